// How long a rank computes in a step, for comparing it with others that do the same.
#pragma once

#include <cstdint>

#include "train/recent_seconds.h"

namespace troika::train {

// The median of 20 to 32 samples, each of at least one step and 1.5 s: of the last half minute, or longer where steps are long.
class PaceMeter {
 public:
  // A step begins; so much was computed in the one before it.
  void step_begins(double now, double computed_seconds) {
    if (began_ < 0) began_ = now;
    sample_seconds_ += computed_seconds;
    if (steps_ > 0 && now - began_ >= sample_least_seconds) {
      samples_.add(sample_seconds_ / static_cast<double>(steps_));
      sample_seconds_ = 0;
      steps_ = 0;
      began_ = now;
    }
    ++steps_;
  }

  double seconds() const { return samples_.median(least_samples); }  // 0: not known yet

 private:
  static constexpr double sample_least_seconds = 1.5;
  static constexpr std::size_t least_samples = 20;

  RecentSeconds samples_;
  double sample_seconds_ = 0, began_ = -1;
  std::int64_t steps_ = 0;
};

}  // namespace troika::train
