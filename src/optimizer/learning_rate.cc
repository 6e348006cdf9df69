#include "optimizer/learning_rate.h"

#include <algorithm>
#include <cmath>

namespace troika::optimizer {

double learning_rate(const config::OptimizerSettings& settings, std::int64_t step, std::int64_t steps) {
  const std::int64_t warmup = settings.warmup_steps;
  if (step <= warmup) return settings.lr * static_cast<double>(step) / static_cast<double>(warmup);
  if (settings.lr_schedule == config::LrSchedule::constant) return settings.lr;
  const double done = std::min(
      1.0, static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(1, steps - warmup)));
  const double floor = std::min(settings.min_lr, settings.lr);
  const bool linear = settings.lr_schedule == config::LrSchedule::linear;
  const double share = linear ? 1 - done : 0.5 * (1 + std::cos(3.14159265358979323846 * done));
  return floor + (settings.lr - floor) * share;
}

}  // namespace troika::optimizer
