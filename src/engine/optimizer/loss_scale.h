// Dynamic loss scaling for fp16: P. Micikevicius et al., "Mixed Precision Training", 2018.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace troika::optimizer {

// The loss is multiplied by the scale so that small gradients stay above fp16's smallest number. After an overflow the
// step is skipped and the scale shrinks; after `window` good steps in a row it grows. A value; the same on every rank,
// since what it is told is. Without fp16 the scale is 1 and nothing changes it.
class LossScale {
 public:
  explicit LossScale(const config::PrecisionSettings& settings);

  double scale() const { return scale_; }
  std::int64_t good_steps() const { return good_steps_; }  // since the last change
  bool dynamic() const { return dynamic_; }

  enum class Step { good, overflowed };
  // ConfigError when a step overflows at the smallest scale: then it is not the scale.
  void update(Step step);

  void restore(double scale, std::int64_t good_steps);  // from a checkpoint

 private:
  config::PrecisionSettings settings_;
  bool dynamic_;
  double scale_;
  std::int64_t good_steps_ = 0;
};

}  // namespace troika::optimizer
