// The callback by which a group reports how long it waited for its peers.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "base/clock.h"

namespace troika::sharding {

// Seconds are base::monotonic_seconds(). A value.
class OnWait {
 public:
  using Ended = std::function<void(double begin_seconds, double end_seconds)>;

  OnWait() = default;  // nobody hears of it
  template <class Call, class = std::enable_if_t<std::is_invocable_v<Call, double, double>>>
  OnWait(Call ended, std::function<void()> begins = {}) : ended_(std::move(ended)), begins_(std::move(begins)) {}

  // Standing still begins. Returns when that is.
  double begins() const {
    if (begins_) begins_();
    return base::monotonic_seconds();
  }
  void ended(double begin_seconds) const {
    if (ended_) ended_(begin_seconds, base::monotonic_seconds());
  }

 private:
  Ended ended_;
  std::function<void()> begins_;
};

}  // namespace troika::sharding
