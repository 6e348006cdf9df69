// Dynamic loss scaling for fp16: P. Micikevicius et al., "Mixed Precision Training", 2018.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/settings/settings.h"

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

// How large the gradients of each parameter may be in the next step: all their leaves are rounded to a grid that this
// decides (sharding/gradient_sum.h). One value, the same on every rank, because what it is told is.

// The exponent of a magnitude: the least e for which it is below 2^e; `no_gradient` of none.
inline constexpr int no_gradient = -1000;

class GradientExponents {
 public:
  static constexpr int first = 7;           // before a parameter had a gradient
  static constexpr int headroom = 10;       // bits above the largest gradient
  static constexpr int span = 20;           // below the largest exponent of all parameters none falls further than this
  static constexpr int steps_per_bit = 16;  // in which an exponent that is not needed falls by one
  static constexpr int least = -60, most = 128;

  // `names`: of all parameters that are trained, in the order of all lists here.
  explicit GradientExponents(std::vector<std::string> names);

  // Gradients of parameter i are to stay below 2^values()[i].
  const std::vector<int>& values() const { return values_; }

  // A step had larger gradients and is run again.
  void raise(const std::vector<int>& exponents_of_gradients);
  // Step number `step` is final.
  void follow(const std::vector<int>& exponents_of_gradients, std::int64_t step);

  // The values of the parameters that have had a gradient, by name; unknown names are ignored.
  std::map<std::string, int> by_name() const;
  void restore(const std::map<std::string, int>& by_name);

 private:
  void keep_within_span();

  const std::vector<std::string> names_;
  std::vector<int> values_;
  std::vector<bool> measured_;
};

}  // namespace troika::optimizer
