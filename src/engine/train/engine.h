// Computes a plan's steps on one rank: parameters, optimizer, program runner, evaluator and loader, all built from the plan.
// Another plan needs another engine; what outlives it is in train_state.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/rank_channels.h"
#include "data/batches.h"
#include "data/loader.h"
#include "data/samples.h"
#include "executor/executor.h"
#include "inference/evaluator.h"
#include "model/decoder.h"
#include "plan/plan.h"
#include "sharding/context_group.h"
#include "sharding/tensor_group.h"
#include "tensor/accelerator.h"
#include "tensor/ledger.h"
#include "tensor/streams.h"
#include "train/recorder.h"
#include "train/train_state.h"
#include "train/rank_activity.h"

namespace troika::train {

// The data that a run evaluates on.
struct EvaluationData {
  const data::Samples* samples = nullptr;  // outlives the engine; null: nothing
  std::vector<data::SourcePart> sources;   // what they consist of; several get a loss each
};

// One rank's thread. References must outlive the engine. Not movable.
class Engine {
 public:
  // Gives the segments of the whole model in order.
  using SegmentMaker = std::function<std::vector<std::unique_ptr<model::Segment>>(const model::Parallelism&)>;
  // `rank_activity` may be null.
  Engine(const plan::Plan& plan, const data::Samples& dataset, EvaluationData valid, comm::RankChannels& channels,
         std::shared_ptr<tensor::Streams> streams, RankActivity* rank_activity, const SegmentMaker& make_segments);

  // The next step's data are those behind `progress`. Before the first step, and after the run has gone back.
  void read_from(const RunProgress& progress);

  // ahead: the tokens that the loader has read ahead. again: of a step that runs more than once, read once more.
  enum class Reading { ahead, again };
  // Collective: plays the plan's program once, on the microbatches of the step, of which each rank gets those that end all
  // ranks' computing at about one time (plan::distribute).
  executor::StepResult run(executor::StepSettings step, Reading reading);
  // Collective, where evaluates().
  inference::Evaluation evaluate(std::int64_t step) { return evaluator_->run(step); }
  bool evaluates() const { return evaluator_ != nullptr; }
  std::string evaluation_fingerprint() const { return valid_.samples->fingerprint(); }

  void publish_parameters() { executor_->publish_parameters(); }  // see Executor
  void check_state() const { executor_->check_state(); }
  // Returns when the device has done all that it was asked for; PeerError when a channel breaks meanwhile.
  void await_device();

  // The memory of this rank's GPU, as it is and as planned.
  struct DeviceMemory {
    tensor::PoolBytes taken;
    plan::Memory planned;
  };
  std::optional<DeviceMemory> device_memory() const;  // nothing: the rank has none

  const executor::Place& place() const { return place_; }
  const executor::Units& units() const { return units_; }
  tensor::Ledger& ledger() { return ledger_; }
  const tensor::Ledger& ledger() const { return ledger_; }
  Recorder& recorder() { return recorder_; }
  const Recorder& recorder() const { return recorder_; }

 private:
  executor::Setup setup();
  model::Tokens load_tokens(std::int64_t step, int microbatch);
  model::Tokens shape_of(int microbatch) const;
  struct StepBatch {
    std::vector<shape::Range> samples;  // of each of the step's microbatches
    std::vector<int> microbatches;      // executor::StepSettings::microbatches
  };
  void check_room(const RunProgress& progress) const;
  StepBatch batch_of(std::int64_t step) const;
  std::vector<data::Loader::Wanted> loaded_in(std::int64_t step) const;  // on the loader's thread too

  const plan::Plan& plan_;
  const data::Samples& dataset_;
  const EvaluationData valid_;
  comm::RankChannels& channels_;
  const std::shared_ptr<tensor::Streams> streams_;
  const executor::Place place_;
  const plan::PositionCosts costs_;
  tensor::Ledger ledger_;
  Recorder recorder_, evaluation_recorder_;
  sharding::TensorGroup tensor_group_;
  sharding::ContextGroup context_group_;
  executor::Units units_;
  std::unique_ptr<executor::Executor> executor_;
  std::unique_ptr<inference::Evaluator> evaluator_;  // null: nothing to evaluate on
  std::unique_ptr<const data::Batches> batches_;
  StepBatch batch_;                       // of the step that runs
  std::vector<int> loads_;                // the program's microbatches that this rank loads, in the order of its program
  std::unique_ptr<data::Loader> loader_;  // null: a stage in the middle reads no tokens
  Reading reading_ = Reading::ahead;
};

std::vector<std::string> names_of(const std::vector<shape::ParameterInfo>& parameters);

}  // namespace troika::train
