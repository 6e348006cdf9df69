// Finds processors and memory that compute wrongly without changing what they hold: a step is computed twice, the second time
// every microbatch by the next data-parallel rank, and all that the one computation leaves must have the bits of the other.
// Where there is one data-parallel rank, or they have unequal shares, each computes its own microbatches again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "comm/channel.h"
#include "executor/bucket.h"
#include "executor/message_tags.h"
#include "executor/step_facts.h"
#include "mesh/mesh.h"
#include "schedule/instruction/program.h"
#include "tensor/tensor.h"

namespace troika::executor {

// The role of a run of the program in its step. audit: the first of two, by others than in the next, and nothing is
// updated; the next is audited, and compared with it before its update.
enum class Pass { only, audit, audited };

// One rank's thread. Order of calls: begin; sent, any number; observe; in an audited pass tell and compare around the exchange
// of the step's facts.
class RecomputeAudit {
 public:
  static constexpr int checksums = 2;  // of every rank, in StepFacts

  RecomputeAudit(const schedule::Program& program, const mesh::Shape& shape, int world_rank, const Units& units,
                 comm::Channel& world);

  // `microbatches`: StepSettings::microbatches.
  void begin(Pass pass, std::int64_t step, const std::vector<int>& microbatches);
  // The microbatch of the step that one of the program's is in this pass; negative: none.
  int of_step(int microbatch) const { return of_step_[static_cast<std::size_t>(microbatch)]; }
  // A message to another stage: complete, and not yet changed. `microbatch`: the program's.
  void sent(StageMessage content, int microbatch, int stage, const tensor::Tensor& tensor);
  // The end of the pass: gradients are complete and not yet updated with. `losses`: by the step's microbatch, of this rank.
  void observe(const std::map<int, kernels::LossSum>& losses);
  // Whether the loss and all gradients of the audit were numbers; others are not compared.
  void keep(bool finite) { audit_finite_ = finite; }

  void tell(int first_checksum, StepFacts* facts) const;
  // PeerError that names the two ranks, the tensor and the step; collective over the world when there is one.
  void compare(int first_checksum, const StepFacts& facts, bool finite) const;

 private:
  // One result, in the order in which a step computes them: activations by stage, losses, gradients from the last stage on.
  struct Result {
    int place = 0;  // in that order
    std::uint64_t bits = 0;
    std::string what;
  };
  struct Trace {
    std::map<int, std::uint64_t> sent[2];  // by the stage that sends; activations, gradients
    std::vector<Result> results;           // whose microbatches' they are
    std::vector<Result> sums;              // of all replicas
  };
  struct Difference {
    int place = 0;
    std::string what;
    int by = 0, by_other = 0;  // world ranks, in the audited pass and in the audit
  };

  int counterpart(int world_rank, int direction) const;
  int stage_of(int segment) const;
  std::string lines_of(const Trace& trace) const;
  std::vector<Difference> differences(const std::vector<std::string>& audits,
                                      const std::vector<std::string>& now) const;
  base::Text sentence(const std::vector<Difference>& found, const std::vector<std::string>& hosts) const;

  const schedule::Program& program_;
  const mesh::Shape shape_;
  const int world_rank_;
  const Units& units_;
  comm::Channel& world_;
  int shift_ = 0;  // a microbatch of data-parallel rank d is the audit's on rank d - shift
  std::vector<int> of_step_;
  Pass pass_ = Pass::only;
  std::int64_t step_ = 0;
  bool audit_finite_ = true;
  Trace audit_, now_;
};

}  // namespace troika::executor
