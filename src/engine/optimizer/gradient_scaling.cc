#include "optimizer/gradient_scaling.h"

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
    if (scale_ <= settings_.loss_scale_min)
      throw base::ConfigError(base::say(
          "fp16 overflows even with the smallest loss scale ({:g}): the loss diverges or the model's values do not fit fp16; use --bf16 or fp32, a lower --lr, or a longer --warmup-steps",
          scale_), base::Cause::fp16_overflow);
    scale_ = std::max(settings_.loss_scale_min, scale_ * settings_.loss_scale_backoff);
  }
  good_steps_ = 0;
}

void LossScale::restore(double scale, std::int64_t good_steps) {
  if (!dynamic_) return;
  scale_ = scale;
  good_steps_ = good_steps;
}

static int with_headroom(int exponent) {
  return std::clamp(exponent + GradientExponents::headroom, GradientExponents::least, GradientExponents::most);
}

GradientExponents::GradientExponents(std::vector<std::string> names)
    : names_(std::move(names)), values_(names_.size(), first), measured_(names_.size()) {}

void GradientExponents::raise(const std::vector<int>& exponents_of_gradients) {
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (exponents_of_gradients.at(i) > values_[i]) values_[i] = with_headroom(exponents_of_gradients[i]);
  keep_within_span();
}

void GradientExponents::follow(const std::vector<int>& exponents_of_gradients, std::int64_t step) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const int exponent = exponents_of_gradients.at(i);
    if (exponent == no_gradient) continue;
    const int wanted = with_headroom(exponent);
    const bool falls = wanted < values_[i] && step % steps_per_bit == 0;
    if (!measured_[i] || wanted > values_[i]) {
      values_[i] = wanted;
    } else if (falls) {
      --values_[i];
    }
    measured_[i] = true;
  }
  keep_within_span();
}

void GradientExponents::keep_within_span() {
  if (values_.empty()) return;
  const int largest = *std::max_element(values_.begin(), values_.end());
  for (int& value : values_) value = std::max(value, largest - span);
}

std::map<std::string, int> GradientExponents::by_name() const {
  std::map<std::string, int> all;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (measured_[i]) all[names_[i]] = values_[i];
  return all;
}

void GradientExponents::restore(const std::map<std::string, int>& by_name) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto found = by_name.find(names_[i]);
    if (found == by_name.end()) continue;
    values_[i] = std::clamp(found->second, least, most);
    measured_[i] = true;
  }
}

}  // namespace troika::optimizer
