// The learning rate of a step: linear warm-up from 0, then cosine, linear or constant down to min_lr at the last step.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace troika::optimizer {

// `step` counts from 1 to `steps`.
double learning_rate(const config::OptimizerSettings& settings, std::int64_t step, std::int64_t steps);

}  // namespace troika::optimizer
