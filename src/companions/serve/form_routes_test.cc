#include "serve/form_routes.h"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <utility>

#include "base/error.h"
#include "serve/served_runs_test_support.h"

namespace troika::serve {
namespace {

TEST(PlanQueue, MakesTheOneAtHandAndThenTheNewest) {
  PlanQueue queue;
  std::promise<void> go_on, begun;
  const auto ask = [&queue](const std::function<std::string()>& plan) {
    return std::async(std::launch::async, [&queue, plan] { return refusal_of([&] { queue.make(plan); }); });
  };
  std::future<std::string> first = ask([&] {
    begun.set_value();
    go_on.get_future().wait();
    return "";
  });
  begun.get_future().wait();
  // The older of two is refused while the first one continues, whichever it is; the other one waits.
  std::future<std::string> older = ask([] { return ""; }), waiting = ask([] { return ""; });
  const auto is_refused = [](std::future<std::string>& one) {
    return one.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
  };
  while (!is_refused(older)) std::swap(older, waiting);
  EXPECT_THAT(older.get(), testing::StartsWith("503"));
  std::future<std::string> newest = ask([] { return ""; });
  EXPECT_THAT(waiting.get(), testing::StartsWith("503"));
  go_on.set_value();
  EXPECT_EQ(first.get(), "done");
  EXPECT_EQ(newest.get(), "done");
}

TEST(PlanQueue, GoesOnAfterOneThatFails) {
  PlanQueue queue;
  EXPECT_THAT(refusal_of([&] { queue.make([]() -> std::string { throw base::ConfigError(base::verbatim("no")); }); }), "error no");
  EXPECT_EQ(queue.make([] { return "plan"; }), "plan");
}

}  // namespace
}  // namespace troika::serve
