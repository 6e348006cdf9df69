// How far a run has come, as its checkpoints tell it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "optimizer/gradient_exponents.h"
#include "optimizer/loss_scale.h"

namespace troika::train {

// The lowest loss of an evaluation so far.
struct Best {
  std::int64_t step = 0;  // 0: none yet
  double loss = 0;
  std::string on;           // fingerprint of the samples that were evaluated
  std::int64_t stale = 0;  // evaluations since one that was lower by train.early_stopping_threshold

  bool beaten_by(double other) const { return step == 0 ? other == other : other < loss; }  // never by NaN
};

struct TrainerState {
  std::int64_t step = 0;         // done
  std::int64_t samples = 0;      // of the data, seen
  std::int64_t tokens = 0;       // with a loss, seen
  std::int64_t skipped = 0;      // steps without an update, for an overflow
  std::int64_t rolled_back = 0;  // times that a checkpoint was taken back, for a step that was no number
  std::int64_t repeated = 0;     // steps that ran twice, because gradients were larger than expected
  Best best;
};

// What a checkpoint says besides tensors and settings (docs/formats/checkpoint.md).
std::map<std::string, std::string> facts_of(const TrainerState& state, const optimizer::LossScale& scale,
                                            const optimizer::GradientExponents& exponents);

// DataError naming the checkpoint and what it does not say.
TrainerState trainer_state_of(const checkpoint::Found& found);
void restore_scale(const checkpoint::Found& found, optimizer::LossScale* scale);  // unless it was saved without one
void restore_exponents(const checkpoint::Found& found, optimizer::GradientExponents* exponents);

}  // namespace troika::train
