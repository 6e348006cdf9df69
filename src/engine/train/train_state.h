// How far a run has come: what outlives a change of plan, apart from what is built from one (engine.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "config/settings/settings.h"
#include "executor/executor.h"
#include "inference/evaluator.h"
#include "optimizer/gradient_scaling.h"

namespace troika::train {

// The lowest loss of an evaluation so far.
struct Best {
  std::int64_t step = 0;  // 0: none yet
  double loss = 0;
  std::string on;          // fingerprint of the samples that were evaluated
  std::int64_t stale = 0;  // evaluations since one that was lower by train.early_stopping_threshold

  bool beaten_by(double other) const { return step == 0 ? other == other : other < loss; }  // never by NaN
  // Takes in the evaluation after `at` steps on the samples `of`.
  void evaluated(std::int64_t at, double other, const std::string& of, double threshold);
};

struct RunProgress {
  std::int64_t step = 0;         // done
  std::int64_t samples = 0;      // of the data, seen
  std::int64_t tokens = 0;       // with a loss, seen
  std::int64_t skipped = 0;      // steps without an update, for an overflow
  std::int64_t rolled_back = 0;  // times that a checkpoint was taken back, for a step that was no number
  std::int64_t repeated = 0;     // steps that ran twice, because gradients were larger than expected
  Best best;

  void count(const executor::StepResult& result, std::int64_t global_batch);
};

// Alike on all ranks, and of no layout: what a checkpoint has besides parameters, optimizer state and settings.
struct TrainState {
  // `names`: of all parameters that are trained, in the plan's order.
  TrainState(const config::PrecisionSettings& precision, std::vector<std::string> names)
      : loss_scale(precision), exponents(std::move(names)) {}

  RunProgress progress;
  optimizer::LossScale loss_scale;
  optimizer::GradientExponents exponents;
};

// The totals of one attempt, for its summary.
struct AttemptTotals {
  std::int64_t first_step = 0;
  std::int64_t tokens = 0;
  std::int64_t steps_without_loss = 0;  // overflowed, or no token carried loss
  std::int64_t audits = 0;
  double loss_sum = 0;
  double begin_seconds = 0;  // base::monotonic_seconds(), of the steps
  double evaluation_seconds = 0;
  std::int64_t valid_step = 0;  // of the last evaluation; 0: none
  double valid_loss = 0;
  executor::StepResult last_step;

  void count(const executor::StepResult& result);
  void count(const inference::Evaluation& evaluation, std::int64_t step);
};

// The facts in a checkpoint besides tensors and settings (docs/formats/checkpoint.md).
std::map<std::string, std::string> facts_of(const TrainState& state);

// DataError naming the checkpoint and what it does not say.
RunProgress progress_of(const checkpoint::Found& found);
void restore_scale(const checkpoint::Found& found, optimizer::LossScale* scale);  // unless it was saved without one
void restore_exponents(const checkpoint::Found& found, optimizer::GradientExponents* exponents);

}  // namespace troika::train
