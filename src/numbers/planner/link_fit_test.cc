#include "planner/link_fit.h"

#include <gtest/gtest.h>

#include "planner/recorded_run_test_support.h"

namespace troika::planner {
namespace {

const Crosses all = [](const std::vector<int>&) { return true; };

void expect_link(const std::optional<LinkFit>& fit, const schedule::Link& link) {
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->link.bytes_per_second / link.bytes_per_second, 1, 1e-6);
  EXPECT_NEAR(fit->link.latency_seconds, link.latency_seconds, 1e-9);
}

TEST(LinkFit, FindsTheLinkThatAPipelineWasSimulatedWith) {
  const plan::Plan plan = made_up_plan(1, 3, 0, 2);
  for (const schedule::Link link : {schedule::Link{0.0002, 1.25e6}, {0.002, 1.2e5}}) {
    const schedule::StepTrace trace = simulate(made_up(plan, host_for_each(3), link));
    expect_link(fit_link(plan, {trace}, all, link.latency_seconds), link);
  }
}

TEST(LinkFit, FindsTheLinkThatReplicasExchangedOver) {
  for (const int zero : {0, 1}) {
    const plan::Plan plan = made_up_plan(3, 1, zero, 1);
    const schedule::Link link{0.0004, 1.1e6};
    const schedule::StepTrace trace = simulate(made_up(plan, host_for_each(3), link));
    expect_link(fit_link(plan, {trace}, all, {}), link);
    expect_link(fit_link(plan, {trace}, all, link.latency_seconds), link);
  }
}

TEST(LinkFit, LeavesOutWhatDoesNotCross) {
  const plan::Plan plan = made_up_plan(1, 3, 0, 2);
  const schedule::StepTrace trace = simulate(made_up(plan, host_for_each(3), {0.0002, 1.25e6}));
  EXPECT_FALSE(fit_link(plan, {trace}, [](const std::vector<int>&) { return false; }, {}));
}

}  // namespace
}  // namespace troika::planner
