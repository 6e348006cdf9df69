// Common parts of the groups inside segments: a channel, and a listener for the time that they waited for their peers.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "comm/channel.h"

namespace troika::sharding {

// Seconds are base::monotonic_seconds(). A value.
class OnWait {
 public:
  using Ended = std::function<void(double begin_seconds, double end_seconds)>;

  OnWait() = default;  // nobody hears of it
  template <class Call, class = std::enable_if_t<std::is_invocable_v<Call, double, double>>>
  OnWait(Call ended, std::function<void()> begins = {}) : ended_(std::move(ended)), begins_(std::move(begins)) {}

  // Stands still while `work` runs.
  template <class Work>
  void during(const Work& work) const {
    const double begin = begins();
    work();
    ended(begin);
  }
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

// Some ranks, or this one alone. One rank's thread.
class PeerGroup {
 public:
  int rank() const { return channel_ == nullptr ? 0 : channel_->rank(); }
  int size() const { return channel_ == nullptr ? 1 : channel_->size(); }
  void set_on_wait(OnWait on_wait) { on_wait_ = std::move(on_wait); }
  // comm::Channel::check, of the group's channel.
  void check() const {
    if (channel_ != nullptr) channel_->check();
  }

 protected:
  PeerGroup() = default;  // alone
  explicit PeerGroup(comm::Channel& channel) : channel_(channel.size() == 1 ? nullptr : &channel) {}

  comm::Channel* channel_ = nullptr;  // null: alone
  OnWait on_wait_;
};

}  // namespace troika::sharding
