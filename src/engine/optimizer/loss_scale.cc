#include "optimizer/loss_scale.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cause.h"
#include "base/error.h"
#include "base/say.h"

namespace troika::optimizer {

LossScale::LossScale(const config::PrecisionSettings& settings)
    : settings_(settings),
      dynamic_(settings.compute == config::Precision::fp16),
      scale_(dynamic_ ? settings.loss_scale : 1) {}

void LossScale::update(Step step) {
  if (!dynamic_) return;
  if (step == Step::good) {
    if (++good_steps_ < settings_.loss_scale_window) return;
    scale_ *= settings_.loss_scale_growth;
  } else {
    if (scale_ <= settings_.loss_scale_min) {
      throw base::ConfigError(base::say(
          "fp16 overflows even with the smallest loss scale ({:g}): the loss diverges or the model's numbers "
          "do not fit fp16; use --bf16 or fp32, a lower --lr, or a longer --warmup-steps",
          scale_), base::Cause::fp16_overflow);
    }
    scale_ = std::max(settings_.loss_scale_min, scale_ * settings_.loss_scale_backoff);
  }
  good_steps_ = 0;
}

void LossScale::restore(double scale, std::int64_t good_steps) {
  if (!dynamic_) return;
  scale_ = scale;
  good_steps_ = good_steps;
}

}  // namespace troika::optimizer
