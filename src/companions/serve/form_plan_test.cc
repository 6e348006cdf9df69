#include "serve/form_plan.h"

#include <gmock/gmock.h>

#include <future>

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
  std::future<std::string> second = ask([] { return ""; });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  std::future<std::string> third = ask([] { return ""; });
  EXPECT_THAT(second.get(), testing::StartsWith("503"));  // while the first one still goes on
  go_on.set_value();
  EXPECT_EQ(first.get(), "done");
  EXPECT_EQ(third.get(), "done");
}

TEST(PlanQueue, GoesOnAfterOneThatFails) {
  PlanQueue queue;
  EXPECT_THAT(refusal_of([&] { queue.make([]() -> std::string { throw base::ConfigError(base::verbatim("no")); }); }), "error no");
  EXPECT_EQ(queue.make([] { return "plan"; }), "plan");
}

}  // namespace
}  // namespace troika::serve
