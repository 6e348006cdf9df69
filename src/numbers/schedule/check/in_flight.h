// How much a rank holds between forwards and backwards; what check() reports and bounds.
#pragma once

#include <map>
#include <tuple>
#include <utility>

#include "schedule/check/checker.h"
#include "schedule/check/dependencies.h"
#include "schedule/check/pass_record.h"

namespace troika::schedule {

// Follows one rank of a sound program as an executor runs it. A microbatch counts from its first forward on a stage to the end of
// its last weight backward there, where there is no backward to the end of its last forward. Bytes: data that segments keep between
// their passes, data between two segments or stages, received messages from posting to use, sent ones until they surely arrived
// (KnownArrivals) or norm.
class InFlight {
 public:
  InFlight(const Program& program, const Bounds& bounds, int rank);

  // An instruction as the single passes of single segments that it consists of, in order; others as they are.
  static std::vector<Instruction> parts_of(const Program& program, const Instruction& i);
  void visit_part(const Instruction& part);
  void visit(const Instruction& i);

  int count() const { return static_cast<int>(segments_left_.size()); }
  int peak_count() const { return peak_count_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t peak_bytes() const { return peak_bytes_; }
  std::int64_t peak_gathered_bytes() const { return peak_gathered_bytes_; }

 private:
  // activation, gradient: at a boundary of segments or stages; received, sent: messages of them.
  enum class What { saved, activation, gradient, received_act, received_grad, sent_act, sent_grad };
  using Key = std::tuple<What, int, int>;  // microbatch, segment of `saved`, stage of the others

  void hold(const Key& key, std::int64_t bytes);
  static What standing(const Instruction& message) {
    return traits(message.kind).payload == Payload::activation ? What::activation : What::gradient;
  }
  static What travelling(const Instruction& message);
  void forward(const Instruction& i);
  void backward_input(const Instruction& i);
  void backward_weight(const Instruction& i);
  void send(const Instruction& i);
  void take(Kind receive, const Instruction& i);
  void count_gathered(const Instruction& i);
  bool will_recompute(const Instruction& i) const {
    return recomputed_.has(recompute_pass, i.microbatch, i.stage, i.segment);
  }

  const Program& program_;
  const Bounds& bounds_;
  const KnownArrivals arrivals_;
  PassRecord recomputed_;                             // what will be
  std::map<std::pair<int, int>, int> segments_left_;  // by (microbatch, stage): those without weight backward
  std::map<Key, std::int64_t> held_;
  std::int64_t bytes_ = 0, peak_bytes_ = 0, gathered_bytes_ = 0, peak_gathered_bytes_ = 0;
  int peak_count_ = 0;
  Key under_way_{What::sent_act, -1, -1};  // the newest unanswered send
};

}  // namespace troika::schedule
