// Puts the modules together for one rank and trains. Start reading at Trainer::run and Trainer::train_step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/rank_channels.h"
#include "data/loader.h"
#include "data/samples.h"
#include "executor/executor.h"
#include "host/memory.h"
#include "inference/evaluator.h"
#include "metrics/metrics_log.h"
#include "metrics/progress.h"
#include "metrics/row_sink.h"
#include "metrics/run_log.h"
#include "metrics/step_metrics.h"
#include "metrics/summary.h"
#include "model/decoder.h"
#include "optimizer/gradient_exponents.h"
#include "optimizer/loss_scale.h"
#include "plan/plan.h"
#include "sharding/context_group.h"
#include "sharding/tensor_group.h"
#include "tensor/accelerator.h"
#include "tensor/ledger.h"
#include "tensor/streams.h"
#include "train/forecaster.h"
#include "train/initial_state.h"
#include "train/recorder.h"
#include "train/run_records.h"
#include "train/saver.h"
#include "train/saving.h"
#include "train/trainer_state.h"

namespace troika::train {

// What the surroundings give and want.
struct Surroundings {
  std::string host;
  std::shared_ptr<tensor::Streams> streams = tensor::make_host_streams();  // of the rank's device
  std::FILE* screen = nullptr;                                             // progress and notes of rank 0; null: silent
  std::function<bool()> stop_requested;                                    // may be empty
  std::function<void()> on_begin;                                          // before the first step; may be empty
  // Before each checkpoint, on every rank: throws where the folder is no longer this run's, and gives what is to be noted. May be
  // empty.
  std::function<std::string()> look_at_folder;
  Whereabouts* whereabouts = nullptr;                                      // of the rank; may be null
  metrics::RunLog* log = nullptr;                                          // may be null
  RunRecords* records = nullptr;                                           // may be null
  metrics::RowSink* rows = nullptr;  // of rank 0: who gets the rows of metrics.jsonl too; may be null
  // A trial neither looks for checkpoints nor writes any; with an empty train.out it writes nothing at all.
  bool trial = false;
  Attempt attempt;
  // Where they are read on this host (tokenizer_copies.h).
  std::string tokenizer{config::bytes_tokenizer}, chat_template{config::tokenizers_template};
  Saving saving;
  const data::Samples* valid = nullptr;  // to evaluate on, where the plan has an evaluation; outlives the trainer
  std::vector<data::SourcePart> valid_sources;  // what `valid` consists of; several get a loss each
  std::function<void(double seconds)> on_wait;                     // before on_step: executor::StepResult::awaited_seconds
  std::function<void(std::int64_t step, double seconds)> on_step;  // after each, on every rank; may be empty
  std::optional<MachineHere> machine;                              // nothing: what the run takes is not predicted
};

enum class Ending { finished, interrupted };

struct Outcome {
  Ending ending = Ending::finished;
  metrics::RunSummary summary;
  executor::StepResult last_step;  // alike on all ranks
  std::int64_t step = 0;           // of the run, the last one done
  std::int64_t steps = 0;          // of the run, that there were to be
  std::string early;               // why it finished before them, a sentence; "": it did not
};

// Finds what the run starts with, then builds parameters, optimizer and program runner from the plan: all ranks do it at
// once. References must outlive the trainer. Not movable.
class Trainer {
 public:
  Trainer(const plan::Plan& plan, const data::Samples& dataset, comm::RankChannels& channels,
          Surroundings surroundings);
  // For tests that replace the computing: `make_segments` gives the segments of the whole model in order.
  using SegmentMaker = std::function<std::vector<std::unique_ptr<model::Segment>>(const model::Parallelism&)>;
  Trainer(const plan::Plan& plan, const data::Samples& dataset, comm::RankChannels& channels, Surroundings surroundings,
          const SegmentMaker& make_segments);
  ~Trainer();

  // Restores the newest checkpoint (as train.resume says) or loads the weights at model.path, trains to the last step, until
  // all agree to stop or until train.early_stopping_patience is used up, saves.
  Outcome run();

  const tensor::Ledger& ledger() const { return ledger_; }
  const executor::Units& units() const { return units_; }

 private:
  void make_evaluator(const executor::Channels& exchanges);
  executor::Setup setup();
  void restore();
  void check_changes(const checkpoint::Found& found, const TrainerState& state);
  void resume_from(const checkpoint::Found& found, const TrainerState& state);
  void say_where_it_stands();
  void start_loader();
  void start_progress();
  model::Tokens load_tokens(std::int64_t step, int microbatch);
  void train_step();
  void check_channels();
  executor::StepResult run_step(executor::StepSettings step);
  executor::StepResult run_in_range(executor::StepSettings step);
  bool audit_due(std::int64_t step) const;
  void count(const executor::StepResult& result);
  void judge(const executor::StepResult& result);
  void skip_nonfinite(const executor::StepResult& result);
  void roll_back(const executor::StepResult& result);
  [[noreturn]] void stop_at_nonfinite(const executor::StepResult& result);
  bool over() const;
  bool out_of_patience() const;
  std::string early_end() const;
  bool evaluation_due() const;
  void evaluate();
  void report_evaluation();
  void report(const executor::StepResult& result, double loss_scale, double seconds);
  void record_timeline();
  std::optional<tensor::PoolBytes> device_memory() const;  // of this rank's GPU; nothing: it has none
  plan::Memory planned_on_gpu() const;
  void compare_device_memory();
  executor::Requests requests() const;
  bool save_due() const;
  void look_at_folder();
  void begin_save(Saver::Until until);
  void finish_save();
  enum class NextTry { later, now, never };  // of a save that fails
  NextTry next_try() const;
  bool settle_save(NextTry next);
  std::string failed_save(const std::string& cause, NextTry next) const;
  bool save_now();
  void save_the_end();
  void note(const std::string& text);
  void record(records::EventKind kind, const std::string& text, const std::map<std::string, double>& numbers = {},
              base::Cause cause = base::Cause{});
  void tell(std::int64_t step, records::Activity activity) const;  // where the rank is
  void tell_saving(records::Activity activity) const;
  metrics::RunSummary summary() const;
  bool first_rank() const { return place_.world_rank == 0; }
  bool writes() const { return !settings_.train.out.empty(); }

  const plan::Plan& plan_;
  const config::Settings& settings_;
  const data::Samples& dataset_;
  comm::RankChannels& channels_;
  const Surroundings surroundings_;
  executor::Place place_;
  InitialState initial_;

  const std::int64_t program_resident_bytes_ = host::process_memory().resident_bytes;  // before the first tensor
  tensor::Ledger ledger_;
  Recorder recorder_, evaluation_recorder_;
  Forecaster forecaster_;
  sharding::TensorGroup tensor_group_;
  sharding::ContextGroup context_group_;
  executor::Units units_;
  std::unique_ptr<executor::Executor> executor_;
  std::unique_ptr<inference::Evaluator> evaluator_;  // null: nothing to evaluate on
  std::unique_ptr<Saver> saver_;                     // null: a trial
  std::unique_ptr<data::Loader> loader_;
  std::unique_ptr<metrics::Progress> progress_;
  metrics::MetricsLog metrics_;

  optimizer::LossScale loss_scale_;
  optimizer::GradientExponents exponents_;
  bool order_is_proved_ = false;  // of this attempt's messages, by its first step
  bool reads_again_ = false;  // the run of the step is not the one that the loader reads ahead for
  std::int64_t audits_ = 0;   // of this attempt
  TrainerState state_;
  std::int64_t steps_;  // of the run; after a change of the global batch other than the plan's, where epochs decide
  std::int64_t saved_step_ = -1;  // of the newest checkpoint
  double last_save_ = 0;          // when the last one, or a try of it, began
  double waited_for_save_ = 0;    // what training waited for the last one
  bool save_failed_ = false;      // the last try
  double saving_seconds_ = 0;     // of this attempt, that training waited
  executor::Requests requests_;   // of all ranks in the step just done
  std::int64_t first_step_ = 0;   // of this attempt
  std::int64_t attempt_tokens_ = 0;
  executor::StepResult last_result_;
  std::int64_t steps_without_loss_ = 0;         // of this attempt: overflowed, or no token carried loss
  std::optional<inference::Evaluation> valid_;  // of the step just done
  double valid_loss_ = 0;                       // of the last evaluation of this attempt, behind step
  std::int64_t valid_step_ = 0;                 // this one; 0: none
  double evaluation_seconds_ = 0;               // of this attempt
  double loss_sum_ = 0, begin_seconds_ = 0;
  std::int64_t nonfinite_in_row_ = 0;
  bool stop_ = false;
};

}  // namespace troika::train
