// The learning rate of a step: linear warm-up from 0, then cosine, linear or constant down to min_lr at the last step; wsd
// is constant and falls to min_lr over its last decay_steps.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace troika::optimizer {

// `step` counts from 1 to `steps`; warmup_steps and decay_steps are those of the run (plan::Job). A step takes the rate where
// it ends, or with lr_at start where it begins, as transformers' get_scheduler does; the warm-up of its wsd rises from min_lr.
double learning_rate(const config::OptimizerSettings& settings, std::int64_t step, std::int64_t steps);

// Whether the rate of every step from `first` to `last` is 0, so that no weight changes; true of no steps.
bool changes_nothing(const config::OptimizerSettings& settings, std::int64_t first, std::int64_t last,
                     std::int64_t steps);

}  // namespace troika::optimizer
