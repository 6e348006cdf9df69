// How long something usually takes: the median of its last times.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace troika::train {

// Fixed size, no allocation.
class RecentSeconds {
 public:
  void add(double seconds) { seconds_[count_++ % seconds_.size()] = static_cast<float>(seconds); }
  std::size_t count() const { return count_; }  // since the start

  // 0 before there are `least` of them.
  double median(std::size_t least) const {
    const std::size_t known = std::min(count_, seconds_.size());
    if (known == 0 || known < least) return 0;
    std::array<float, 32> sorted = seconds_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(known));
    return static_cast<double>(*middle);
  }

 private:
  std::array<float, 32> seconds_{};
  std::size_t count_ = 0;
};

}  // namespace troika::train
