#include "optimizer/learning_rate.h"

#include <algorithm>
#include <cmath>

#include "base/exact_math.h"

namespace troika::optimizer {
namespace {

using config::LrDecay;
using config::LrSchedule;

double part_of(std::int64_t done, std::int64_t all) {
  return std::min(1.0, static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(1, all)));
}

// What is left of the way from lr to min_lr.
double left_of(LrDecay shape, double done) {
  switch (shape) {
    case LrDecay::linear:
      return 1 - done;
    case LrDecay::cosine:
      return 0.5 * (1 + base::cos(3.14159265358979323846 * done));
    case LrDecay::sqrt:
      return 1 - std::sqrt(done);
  }
  return 0;
}

}  // namespace

double learning_rate(const config::OptimizerSettings& settings, std::int64_t step, std::int64_t steps) {
  const bool at_start = settings.lr_at == config::LrAt::start, wsd = settings.lr_schedule == LrSchedule::wsd;
  const std::int64_t at = at_start ? step - 1 : step, warmup = settings.warmup_steps;
  const double lr = settings.lr, floor = std::min(settings.min_lr, lr);
  if (warmup > 0 && at <= warmup) {
    const double share = static_cast<double>(at) / static_cast<double>(warmup);
    return wsd && at_start ? floor + (lr - floor) * share : lr * share;
  }
  if (settings.lr_schedule == LrSchedule::constant) return lr;
  if (wsd) {
    const std::int64_t begin = steps - settings.decay_steps;
    return at <= begin ? lr : floor + (lr - floor) * left_of(settings.decay, part_of(at - begin, settings.decay_steps));
  }
  const LrDecay shape = settings.lr_schedule == LrSchedule::linear ? LrDecay::linear : LrDecay::cosine;
  return floor + (lr - floor) * left_of(shape, part_of(at - warmup, steps - warmup));
}

bool changes_nothing(const config::OptimizerSettings& settings, std::int64_t first, std::int64_t last,
                     std::int64_t steps) {
  if (settings.lr == 0) return true;
  for (std::int64_t step = first; step <= last; ++step) {
    if (learning_rate(settings, step, steps) != 0) return false;
  }
  return true;
}

}  // namespace troika::optimizer
