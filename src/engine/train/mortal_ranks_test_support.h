// Ranks that die, or stop to do anything, at a message: the one after so many that they have posted on all their channels.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "comm/rank_channels.h"

namespace troika::train {

// Thrown in the rank that dies, where it would have posted the message.
struct Died : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One rank's thread; posted() from any.
class Life {
 public:
  explicit Life(std::int64_t dies_at = std::numeric_limits<std::int64_t>::max(), std::function<void()> at_its_end = {})
      : dies_at_(dies_at), at_its_end_(std::move(at_its_end)) {}

  std::int64_t posted() const { return posted_; }
  void post();  // a message; calls at_its_end and throws Died at its last

 private:
  const std::int64_t dies_at_;
  const std::function<void()> at_its_end_;
  std::atomic<std::int64_t> posted_{0};
};

// The channel, whose messages are of that life. An exchange or a gather is one.
std::unique_ptr<comm::Channel> mortal(std::unique_ptr<comm::Channel> inner, std::shared_ptr<Life> life);
// All of a rank's but that of its saver, which is another thread's.
void make_mortal(comm::RankChannels* channels, const std::shared_ptr<Life>& life);

}  // namespace troika::train
