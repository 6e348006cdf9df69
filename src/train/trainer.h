// Puts the rooms together for one rank and trains. Start reading at Trainer::run and Trainer::train_step.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "comm/channel.h"
#include "data/loader.h"
#include "data/samples.h"
#include "executor/executor.h"
#include "metrics/metrics_file.h"
#include "metrics/progress.h"
#include "metrics/run_log.h"
#include "metrics/summary.h"
#include "model/adapter.h"
#include "model/decoder.h"
#include "optimizer/loss_scale.h"
#include "sharding/context_group.h"
#include "sharding/tensor_group.h"
#include "tensor/ledger.h"
#include "train/advisor.h"
#include "train/evaluate.h"
#include "train/frozen.h"
#include "train/origin.h"
#include "train/plan.h"
#include "train/position.h"
#include "train/recorder.h"

namespace troika::train {

// One rank's groups; each channel for this rank's thread. replicas: the ranks with the same parameters (mesh.h).
struct RankChannels {
  std::unique_ptr<comm::Channel> world, pp, tp, cp, replicas;
};

// What the surroundings give and want.
struct Surroundings {
  std::string host;
  c10::Device device = c10::Device(c10::kCPU);
  std::FILE* screen = nullptr;                               // progress and notes of rank 0; null: silent
  std::function<bool()> stop_wished;                         // may be empty
  std::function<void(std::int64_t, const std::string&)> at;  // where the rank is; may be empty
  metrics::RunLog* log = nullptr;                            // may be null
  // A trial neither looks for checkpoints nor writes any; with an empty train.out it writes nothing at all.
  bool trial = false;
  Attempt attempt;
  const data::Samples* valid = nullptr;  // to evaluate on, where the plan has an evaluation; outlives the trainer
  std::function<void(std::int64_t step, double seconds)> on_step;  // after each, on every rank; may be empty
};

enum class Ending { finished, interrupted };

struct Outcome {
  Ending ending = Ending::finished;
  metrics::RunSummary summary;
  executor::StepResult last_step;  // alike on all ranks
};

// Finds where the parameters come from, then builds parameters, optimizer and program runner from the plan: all ranks do it at
// once. References must outlive the trainer. Not movable.
class Trainer {
 public:
  Trainer(const Plan& plan, const data::Samples& dataset, RankChannels& channels, Surroundings surroundings);
  // For tests that replace the computing: `make_segments` gives the segments of the whole model in order.
  using SegmentMaker = std::function<std::vector<std::unique_ptr<model::Segment>>(const model::Parallelism&)>;
  Trainer(const Plan& plan, const data::Samples& dataset, RankChannels& channels, Surroundings surroundings,
          const SegmentMaker& make_segments);
  ~Trainer();

  // Restores the newest checkpoint (as train.resume says) or takes the weights at model.path, trains to the last step or
  // until all agree to stop, saves.
  Outcome run();

  const tensor::Ledger& ledger() const { return ledger_; }

 private:
  void set_parameters();
  void remark_on(const checkpoint::Found& found);
  void take_over(const checkpoint::Found& found, const Position& position);
  void take_weights(ModelSource& source);
  void begin_anew();
  void take_adapters();
  double init_std() const { return plan_.model().init_std; }
  bool has_adapters() const { return model::has_adapters(settings_.lora); }
  void start_loader();
  model::Tokens load_tokens(std::int64_t step, int microbatch);
  void train_step();
  bool evaluation_due() const;
  void evaluate();
  void report_evaluation();
  void settle_scale(const executor::StepResult& result);
  void report(const executor::StepResult& result, double loss_scale, double seconds);
  void record_timeline();
  void save();
  bool save_due() const;
  void note(const std::string& text);
  metrics::RunSummary summary() const;
  executor::Setup setup();
  bool first_rank() const { return place_.world_rank == 0; }
  bool writes() const { return !settings_.train.out.empty(); }

  const Plan& plan_;
  const config::Settings& settings_;
  const data::Samples& dataset_;
  RankChannels& channels_;
  const Surroundings surroundings_;
  executor::Place place_;
  Origin origin_;

  tensor::Ledger ledger_;
  Recorder recorder_, evaluation_recorder_;
  Advisor advisor_;
  sharding::TensorGroup tensor_group_;
  sharding::ContextGroup context_group_;
  executor::Units units_;
  std::unique_ptr<executor::Executor> executor_;
  std::unique_ptr<Evaluator> evaluator_;   // null: nothing to evaluate on
  executor::Executor* running_ = nullptr;  // the trainer's or the evaluator's, for exchanges inside segments
  std::unique_ptr<data::Loader> loader_;
  std::unique_ptr<metrics::Progress> progress_;
  metrics::MetricsFile metrics_;

  optimizer::LossScale loss_scale_;
  Position at_;
  std::int64_t saved_step_ = -1;  // of the newest checkpoint
  std::int64_t first_step_ = 0;   // of this attempt
  std::int64_t attempt_tokens_ = 0;
  executor::StepResult last_result_;
  std::int64_t steps_without_loss_ = 0;  // of this attempt: overflowed, or no token carried loss
  std::optional<Evaluation> valid_;      // of the step just done
  double valid_loss_ = 0;                // of the last evaluation of this attempt, behind step
  std::int64_t valid_step_ = 0;          // this one; 0: none
  double evaluation_seconds_ = 0;        // of this attempt
  double loss_sum_ = 0, begin_seconds_ = 0;
  bool stop_ = false;
};

}  // namespace troika::train
