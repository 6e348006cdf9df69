#include "optimizer/gradient_exponents.h"

#include <algorithm>

namespace troika::optimizer {

static int with_headroom(int exponent) {
  return std::clamp(exponent + GradientExponents::headroom, GradientExponents::least, GradientExponents::most);
}

GradientExponents::GradientExponents(std::vector<std::string> names)
    : names_(std::move(names)), values_(names_.size(), first), measured_(names_.size()) {}

void GradientExponents::raise(const std::vector<int>& exponents_of_gradients) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (exponents_of_gradients.at(i) > values_[i]) values_[i] = with_headroom(exponents_of_gradients[i]);
  }
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
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (measured_[i]) all[names_[i]] = values_[i];
  }
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
