// The policy for a step whose loss or gradients are not finite numbers. Such a step has updated nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "config/settings/settings.h"
#include "executor/executor.h"
#include "train/train_state.h"

namespace troika::train {

// One value per run; the same on every rank, since what it is told is. With fp16 the loss scale is to blame; without, nothing
// is, and train.on_nonfinite decides.
class NonfinitePolicy {
 public:
  static constexpr std::int64_t most_skipped_in_row = 100, most_rollbacks = 10;

  explicit NonfinitePolicy(config::OnNonfinite on_nonfinite) : on_nonfinite_(on_nonfinite) {}

  enum class Action { accept, skip, roll_back, stop };
  struct Verdict {
    Action action = Action::accept;
    base::Text text;                        // of a skipped step: what people and records are told
    std::map<std::string, double> numbers;  // and the records besides
  };
  // Judges the step behind `state`, whose loss scale follows it; a step that is skipped is counted there. ConfigError as of
  // optimizer::LossScale.
  Verdict judge(const executor::StepResult& result, TrainState* state);

 private:
  Verdict overflowed(TrainState* state) const;

  const config::OnNonfinite on_nonfinite_;
  std::int64_t in_row_ = 0;  // that were skipped without a loss scale to blame
};

// Where a run that has come to `now` continues once it has taken the checkpoint of `saved` back: behind the data of the step that
// was no number.
RunProgress rolled_back(const RunProgress& saved, const RunProgress& now, std::int64_t global_batch);
// `to`: rolled_back's.
base::Text rolled_back_text(const executor::StepResult& result, const RunProgress& saved, const RunProgress& now,
                            const RunProgress& to);

// Why a run ends after `step` steps; `saved`: these are in a checkpoint.
enum class StateSaved { no, yes };
base::Text stopped_text(const executor::StepResult& result, std::int64_t step, StateSaved saved);

}  // namespace troika::train
