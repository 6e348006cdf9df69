#include "serve/plan_queue.h"

#include "base/say.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

// Gives the turn to the next one, however the plan ends.
template <class Leave>
struct AtEndOfTurn {
  Leave leave;
  ~AtEndOfTurn() { leave(); }
};

}  // namespace

std::string PlanQueue::make(const std::function<std::string()>& plan) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::int64_t mine = ++newest_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !busy_ || newest_ != mine; });
    if (newest_ != mine) throw Refused{503, base::say("another form was sent while this one waited to be planned")};
    busy_ = true;
  }
  const auto leave = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    busy_ = false;
    changed_.notify_all();
  };
  const AtEndOfTurn<decltype(leave)> turn{leave};
  return plan();
}

}  // namespace troika::serve
