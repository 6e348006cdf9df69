// Puts the modules together for one rank and trains. Start reading at Trainer::run and Trainer::train_step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/rank_channels.h"
#include "data/samples.h"
#include "executor/executor.h"
#include "host/memory.h"
#include "inference/evaluator.h"
#include "plan/plan.h"
#include "tensor/streams.h"
#include "train/engine.h"
#include "train/forecaster.h"
#include "train/initial_state.h"
#include "train/nonfinite_policy.h"
#include "train/restore.h"
#include "train/run_reporter.h"
#include "train/save_policy.h"
#include "train/saver.h"
#include "train/summary.h"
#include "train/train_state.h"

namespace troika::train {

// The checkpoints a run begins with, and how it saves its own.
struct Checkpoints {
  Attempt attempt;
  // Where they are read on this host (tokenizer_copies.h).
  std::string tokenizer{config::bytes_tokenizer}, chat_template{config::tokenizers_template};
  Saving saving;
  // Before each checkpoint, on every rank: throws where the folder is no longer this run's, and gives what is to be noted. May be
  // empty.
  std::function<base::Text()> look_at_folder;
};

// Called by the rank's thread, on every rank; each may be empty.
struct Hooks {
  std::function<bool()> stop_requested;                            // before each step
  std::function<void()> on_begin;                                  // before the first step
  std::function<void(double seconds)> on_wait;                     // before on_step: executor::StepResult::awaited_seconds
  std::function<void(std::int64_t step, double seconds)> on_step;  // after each
};

// The surroundings of a run besides its plan and its data.
struct Surroundings {
  std::shared_ptr<tensor::Streams> streams = tensor::make_host_streams();  // of the rank's device
  Listeners listeners;
  Hooks hooks;
  // Nothing: a trial, which neither looks for checkpoints nor writes any; with an empty train.out it writes nothing at all.
  std::optional<Checkpoints> checkpoints = Checkpoints();
  EvaluationData valid;                // where the plan has an evaluation
  std::optional<MachineHere> machine;  // nothing: what the run takes is not predicted
};

enum class Ending { finished, interrupted };

struct Outcome {
  Ending ending = Ending::finished;
  RunSummary summary;
  executor::StepResult last_step;  // alike on all ranks
  std::int64_t step = 0;           // of the run, the last one done
  std::int64_t steps = 0;          // of the run, that there were to be
  base::Text early;                // why it finished before them, a sentence; empty: it did not
};

// Finds what the run starts with, then builds an engine from the plan: all ranks do it at once. References must outlive the
// trainer. Not movable.
class Trainer {
 public:
  Trainer(const plan::Plan& plan, const data::Samples& dataset, comm::RankChannels& channels,
          Surroundings surroundings);
  // For tests that replace the computing.
  using SegmentMaker = Engine::SegmentMaker;
  Trainer(const plan::Plan& plan, const data::Samples& dataset, comm::RankChannels& channels, Surroundings surroundings,
          const SegmentMaker& make_segments);
  ~Trainer();

  // Restores the newest checkpoint (as train.resume says) or loads the weights at model.path, trains to the last step, until
  // all agree to stop or until train.early_stopping_patience is used up, saves.
  Outcome run();

  const executor::Units& units() const { return engine_.units(); }

 private:
  void begin();
  void train_step();
  executor::StepResult run_step(executor::StepSettings step);
  executor::StepResult run_in_range(executor::StepSettings step, Engine::Reading reading);
  executor::Requests requests() const;
  bool over() const { return state_.progress.step >= steps_ || stops() || out_of_patience(); }
  bool stops() const { return requests_.stop > 0; }
  bool out_of_patience() const;
  base::Text early_end() const;

  void roll_back(const executor::StepResult& result);
  [[noreturn]] void stop_at_nonfinite(const executor::StepResult& result);

  bool evaluation_due() const;
  void evaluate();

  bool save_due() const;
  SavePolicy::Position position() const { return {state_.progress.step, steps_, over()}; }
  void before_checkpoint();

  // trainer_report.cc
  void report(const executor::StepResult& result, double loss_scale, double seconds);
  void report_evaluation();
  void report_device_memory();
  void record_timeline();
  Outcome finish();
  RunSummary summary() const;

  // trainer_restore.cc
  void restore();
  void check_changes(const checkpoint::Found& found, const RunProgress& saved);
  void resume_from(const checkpoint::Found& found, const RunProgress& saved);
  RestoreTarget restore_target();
  void say_where_it_stands();

  const plan::Plan& plan_;
  comm::RankChannels& channels_;
  const Surroundings surroundings_;
  InitialState initial_;

  // Members that outlive a change of plan.
  TrainState state_;
  AttemptTotals totals_;
  RunReporter reporter_;
  NonfinitePolicy nonfinite_;
  executor::Requests requests_;                 // of all ranks in the step just done
  std::optional<inference::Evaluation> valid_;  // of the step just done
  std::int64_t steps_;  // of the run; after a change of the global batch other than the plan's, where epochs decide
  bool order_is_proved_ = false;  // of this attempt's messages, by its first step

  // Members that are built from the plan.
  const std::int64_t program_resident_bytes_ = host::process_memory().resident_bytes;  // before the first tensor
  Engine engine_;
  Forecaster forecaster_;
  std::unique_ptr<Saver> saver_;        // null: a trial
  std::unique_ptr<SavePolicy> saving_;  // of the saver; null: a trial
};

}  // namespace troika::train
