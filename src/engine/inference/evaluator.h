// The loss of a model on samples, each of them once, in any layout.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/safetensors_writer.h"
#include "comm/rank_channels.h"
#include "data/batches.h"
#include "data/samples.h"
#include "executor/executor.h"
#include "model/segment.h"
#include "plan/plan.h"
#include "sharding/context_group.h"
#include "sharding/tensor_group.h"
#include "tensor/tensor.h"
#include "weights/rank_units.h"

namespace troika::inference {

double perplexity_of(double loss);

// The loss on one source among several.
struct SourceLoss {
  std::string name;
  double loss = 0;  // mean over its positions with a target; not a number where it has none
  std::int64_t tokens = 0, samples = 0;
};

struct Evaluation {
  double loss = 0;  // mean over the positions with a target
  std::int64_t tokens = 0, samples = 0;
  double seconds = 0;
  std::vector<SourceLoss> sources;  // nothing of a single one
  double perplexity() const { return perplexity_of(loss); }
};

// The means by which one rank computes; references outlive the evaluator.
struct Computing {
  executor::Place place;
  executor::Channels channels;
  const executor::Units& units;
  sharding::TensorGroup& tensor;
  sharding::ContextGroup& context;
  tensor::Streams& streams;  // of the rank's device
  tensor::Ledger& ledger;
  executor::Observer& observer;
};

// The facts of a plan's rank that an executor of any program must know.
executor::Setup setup_of(const plan::Plan& plan, const executor::Place& place, sharding::TensorGroup& tensor,
                         sharding::ContextGroup& context, tensor::Streams& streams);

// Runs an evaluation's program over samples as often as they need. One rank's thread.
class Evaluator {
 public:
  // `program`: of the plan, its own or the one beside training. `sources`: what `samples` consist of; with two and more, each
  // gets its own loss.
  // `sharing`: which rank computes which of a round's microbatches; in_order: those of its program's numbers.
  enum class Sharing { by_costs, in_order };
  Evaluator(const plan::Plan& plan, const schedule::Program& program, const data::Samples& samples,
            std::vector<data::SourcePart> sources, const Computing& computing, Sharing sharing = Sharing::by_costs);

  // Collective; equal on all ranks. Microbatches take the samples in order, as those of a training step do (data::Batches). The losses of all microbatches are added along one fixed tree, so the bits depend on
  // micro_batch_size and not on dp, pp or ZeRO. Microbatches that several sources share are computed once more in parts, in rounds
  // of their own, so that sources change no bit of the loss of all. DataError when no position has a target. `step`: of training, for errors.
  // `after_round`: after each round, on every rank, with the samples of each of its microbatches; may be empty.
  using AfterRound = std::function<void(const std::vector<shape::Range>& microbatches)>;
  Evaluation run(std::int64_t step, const AfterRound& after_round = {});

  // Collective over the replicas; see Executor.
  void publish_parameters() { executor_.publish_parameters(); }

 private:
  // A source: which microbatches are its own, and which parts of others.
  struct Source {
    data::SourcePart part;
    std::int64_t tokens = 0;
    std::size_t first = 0, end = 0;   // microbatches
    std::vector<std::size_t> pieces;  // of pieces_
  };

  executor::Setup setup(const plan::Plan& plan, const Computing& computing);
  void place_sources(std::vector<data::SourcePart> parts);
  std::int64_t tokens_of_samples(std::int64_t first, std::int64_t count) const;
  std::vector<std::int64_t> samples_of(int microbatch) const;
  model::Tokens load(int microbatch) const;
  model::Tokens shape(int microbatch) const;
  std::vector<int> distribute() const;
  std::vector<double> run_rounds(const std::vector<shape::Range>& microbatches, std::int64_t step, std::int64_t* tokens,
                                 const AfterRound& after_round);
  std::vector<SourceLoss> losses_of_sources(const std::vector<double>& whole, const std::vector<double>& pieces) const;

  const data::Samples& samples_;
  const schedule::Program& program_;
  const plan::PositionCosts costs_;
  const Sharing sharing_;
  const sharding::ContextGroup& context_;
  const tensor::Device device_;
  const std::vector<shape::Range> wholes_;  // the samples of all microbatches
  const std::ptrdiff_t at_once_;            // microbatches of a round
  std::vector<shape::Range> round_;         // of those that are computed
  std::vector<Source> sources_;             // nothing of a single one
  std::vector<shape::Range> pieces_;        // samples of microbatches that several sources share, by source
  executor::Executor executor_;
};

// This rank's rows, on `device`.
model::Tokens tokens_of(const data::TokenBatch& batch, const sharding::ContextGroup& context,
                        const tensor::Device& device);

// One rank of a model that is evaluated and not trained: its parameters and executor.
// References outlive it. Not movable; one rank's thread.
class EvaluationRank {
 public:
  // `plan`: of make_evaluation_plan. `on_logits` may be empty; it hears microbatches that several `sources` share twice.
  EvaluationRank(const plan::Plan& plan, const data::Samples& samples, std::vector<data::SourcePart> sources,
                 comm::RankChannels& channels, tensor::Streams& streams, executor::Observer& observer,
                 const model::OnLogits& on_logits);
  EvaluationRank(const EvaluationRank&) = delete;
  EvaluationRank& operator=(const EvaluationRank&) = delete;

  void load(const weights::FillWeights& fill);                         // collective
  Evaluation evaluate(const Evaluator::AfterRound& after_round = {});  // collective

  const tensor::Ledger& ledger() const { return ledger_; }

 private:
  const plan::Plan& plan_;
  const comm::RankChannels& channels_;
  tensor::Ledger ledger_;
  sharding::TensorGroup tensor_group_;
  sharding::ContextGroup context_group_;
  executor::Units units_;
  std::unique_ptr<Evaluator> evaluator_;
};

// The logits of every position of an evaluation in one file, for comparing with another implementation.
// World rank 0 writes: safetensors with one tensor, "logits", fp32, [samples, seq_len, vocabulary], 0 behind the last position of a
// shorter sample. What other ranks compute is
// sent to it, a round at a time. One rank's thread.
class LogitsFile {
 public:
  // ConfigError when the file would be larger than most_bytes, or under context parallelism; DataError when it cannot be made.
  LogitsFile(const plan::Plan& plan, const data::Samples& samples, const std::string& path, const executor::Place& place, comm::Channel& world);
  static constexpr std::int64_t most_bytes = std::int64_t{16} << 30;

  // Takes the logits that the head of this rank has computed of the round's microbatch `microbatch`.
  void take(int microbatch, const tensor::Tensor& logits_MV);
  // Collective, after every round: the samples of its microbatches. Rank 0 has written their rows afterwards.
  void round_done(const std::vector<shape::Range>& microbatches);
  void finish();  // the file appears under its name

 private:
  int owner(int microbatch) const;  // the world rank that takes it
  void write(const shape::Range& samples, const tensor::Tensor& logits_MV);
  std::int64_t positions_of(const shape::Range& samples) const;

  const plan::Plan& plan_;
  const data::Samples& data_;
  const executor::Place place_;
  comm::Channel& world_;
  const std::int64_t samples_, T, V;
  std::map<int, tensor::Tensor> taken_;  // of this round, on the host
  std::unique_ptr<checkpoint::SafetensorsWriter> writer_;
};

}  // namespace troika::inference
