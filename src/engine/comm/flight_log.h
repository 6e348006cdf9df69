// The last operations of a rank on all its channels, kept for the moment something fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "comm/traffic.h"
#include "comm/wait_mark.h"

namespace troika::comm {

// A ring of fixed size. Threads: every call from any thread.
class FlightLog {
 public:
  enum class State { posted, done, failed };

  explicit FlightLog(std::size_t capacity);

  // Returns the number by which end() finds the entry, if it is still there. `group` and `what` are copied.
  std::uint64_t begin(const std::string& group, const char* what, int peer, std::uint32_t tag, std::int64_t bytes);
  void end(std::uint64_t number, State state);

  // "last operations of rank 1:" and a line for each, oldest first: how long ago it was posted, and how it ended.
  std::string report(int rank) const;

 private:
  struct Entry {
    double posted_at = 0;
    std::string group;
    const char* what = "";
    int peer = 0;
    std::uint32_t tag = 0;
    std::int64_t bytes = 0;
    State state = State::posted;
    double ended_at = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::uint64_t count_ = 0;
};

// The same channel with every send and recv written to the log.
std::unique_ptr<Channel> logged(std::unique_ptr<Channel> inner, std::shared_ptr<FlightLog> log);

// The same, every wait marked, and all of it counted. `world_ranks`: of the channel's group, in its order.
std::unique_ptr<Channel> logged(std::unique_ptr<Channel> inner, std::shared_ptr<FlightLog> log,
                                std::shared_ptr<WaitMark> mark, std::shared_ptr<Traffic> traffic,
                                std::vector<int> world_ranks);

}  // namespace troika::comm
