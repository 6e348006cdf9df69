// Plans for pages that ask again with every key that is pressed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace troika::serve {

// One is made at a time, as each may take all of a core for seconds, and one waits: the newest. Threads: any, several at once.
class PlanQueue {
 public:
  // Refused 503 where another one has come while this one waited.
  std::string make(const std::function<std::string()>& plan);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t newest_ = 0;
  bool busy_ = false;
};

}  // namespace troika::serve
