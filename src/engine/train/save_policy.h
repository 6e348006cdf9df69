// When a run saves its checkpoints, and what becomes of one that cannot be written.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "config/settings/settings.h"
#include "train/run_reporter.h"

namespace troika::train {

// Writes checkpoints, one at a time.
class CheckpointWriter {
 public:
  CheckpointWriter() = default;
  virtual ~CheckpointWriter() = default;
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // copied: begin() returns when the state is copied, where the run saves from a snapshot. complete: when the checkpoint is.
  enum class Until { copied, complete };
  // Collective, while none is being written. The outcome is finish()'s to tell.
  virtual void begin(Until until) = 0;
  virtual bool writing() const = 0;       // begun and not yet finished
  virtual bool complete() const = 0;      // finish() would not wait
  virtual std::int64_t step() const = 0;  // of the one begun last

  // Collective: waits for the checkpoint that was begun. Errors as of checkpoint::save, on all ranks.
  struct Outcome {
    std::int64_t step = 0;
    double seconds = 0;  // from begin() to the end of writing
    std::vector<base::Text> remarks;
  };
  virtual Outcome finish() = 0;
};

// One rank's thread. A disk that is full or fails costs a checkpoint and not the run, as long as there is a later try.
class SavePolicy {
 public:
  using Until = CheckpointWriter::Until;
  // How far the run is; over: no step follows.
  struct Position {
    std::int64_t step = 0, steps = 0;
    bool over = false;
  };

  // `before`: called before each checkpoint, on all ranks; what it throws ends the run. `saved_step`: of the newest checkpoint of
  // this run; -1: none. References must outlive the policy.
  SavePolicy(const config::CheckpointSettings& settings, CheckpointWriter& writer, RunReporter& reporter,
             std::function<void()> before, std::int64_t saved_step);

  // Time counts from here.
  void begins(double now_seconds) { last_try_ = now_seconds; }
  // By rank 0's clock; the other ranks hear of it with the sums of the step.
  bool due_by_time(double now_seconds) const;
  // After a step. `asked`: by rank 0's clock. `best`: of a step with the lowest validation loss so far.
  enum class Reason { none, asked, best };
  bool due(std::int64_t step, Reason reason) const;

  // Collective, as all that follows. A second checkpoint waits for the first.
  void begin(const Position& at, Until until);
  // Waits for the checkpoint that was begun, if there is one; false: it could not be written, which people are told.
  bool settle(const Position& at);
  void settle_if_complete(const Position& at);
  // The state as it is, for a run that is about to fail; false: it could not be written.
  bool save_now(const Position& at);
  // Where the run ends. DataError when its last step is to be saved and cannot be: there is no later try.
  void save_the_end(const Position& at);

  std::int64_t saved_step() const { return saved_step_; }
  double waited_seconds() const { return waited_seconds_; }  // that training waited, in all

 private:
  enum class NextTry { later, now, never };  // of a save that fails
  NextTry next_try(const Position& at) const;
  void finish();
  bool settle(const Position& at, NextTry next);
  base::Text failed_save(const base::Text& cause, const Position& at, NextTry next) const;

  const config::CheckpointSettings& settings_;
  CheckpointWriter& writer_;
  RunReporter& reporter_;
  const std::function<void()> before_;
  std::int64_t saved_step_;
  double last_try_ = 0;         // when it began
  double waited_for_last_ = 0;  // seconds
  bool last_failed_ = false;
  double waited_seconds_ = 0;
};

}  // namespace troika::train
