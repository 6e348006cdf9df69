#include "plan/advice.h"

#include <gmock/gmock.h>

#include "plan/plan_test_support.h"
#include "shape/segment_costs.h"
#include "shape/sum_shape.h"

namespace troika::plan {
namespace {
using testing::HasSubstr;

Plan plan_of(int dp, int pp, std::int64_t layers, std::int64_t microbatches) {
  config::Settings s = small_settings();
  s.model.layers = layers;
  s.parallel.dp = dp;
  s.parallel.pp = pp;
  s.parallel.schedule = config::Schedule::gpipe;
  s.batch.global_batch_size = microbatches;
  return make_plan(config::resolve(s, dp * pp), small_data());
}

std::vector<std::string> names(const std::vector<Plan>& plans) {
  std::vector<std::string> result;
  for (const Plan& plan : plans) result.push_back(layout_name(plan.shape.dp, plan.shape.pp));
  return result;
}

// Seconds of one forward of one microbatch through the whole model.
double whole_model_seconds(const Plan& plan, double per_unit) {
  double units = 0;
  for (const double cost : shape::segment_costs(plan.model(), plan.resolved.batch.seq_len)) units += cost;
  return units * per_unit * static_cast<double>(plan.resolved.batch.micro * plan.resolved.batch.seq_len);
}

const RankSpeed speed{1e-9, 2e-9, 0};
const schedule::Link free_link{};
const schedule::Link slow_link{0.0005, 1.25e6};

TEST(Advice, KnowsEveryLayoutOfTheWorldThatIsLegal) {
  EXPECT_EQ(names(layouts_of(plan_of(1, 4, 4, 12))), (std::vector<std::string>{"pp 4", "dp 2 x pp 2", "dp 4"}));
  EXPECT_EQ(names(layouts_of(plan_of(3, 1, 4, 12))), (std::vector<std::string>{"pp 3", "dp 3"}));
  EXPECT_EQ(names(layouts_of(plan_of(3, 1, 2, 12))),
            (std::vector<std::string>{"dp 3"}));  // two layers, no three stages
}

TEST(Advice, KeepsTheBatchOrTakesTheNearestThatDivides) {
  const auto even = layouts_of(plan_of(1, 3, 4, 12));
  EXPECT_EQ(even.back().resolved.batch.microbatches, 12);
  const auto odd = layouts_of(plan_of(1, 3, 4, 4));
  EXPECT_EQ(odd.front().resolved.batch.microbatches, 4);
  EXPECT_EQ(odd.back().resolved.batch.microbatches, 3);
  EXPECT_EQ(odd.back().resolved.batch.micro, odd.front().resolved.batch.micro);
}

TEST(Advice, PredictsDataParallelComputingAsTheSharesOfTheRanks) {
  const Plan plan = plan_of(3, 1, 4, 12);
  const Prediction p = predict(plan, free_link, {speed});
  EXPECT_NEAR(p.step_seconds, 4 * 3 * whole_model_seconds(plan, 1e-9),
              1e-12);  // 4 microbatches, forward + 2 x backward
  EXPECT_EQ(p.tokens, 12 * 32);
}

TEST(Advice, PredictsThatTheSlowestRankSetsThePace) {
  const Plan plan = plan_of(3, 1, 4, 12);
  const RankSpeed half{2e-9, 4e-9, 0};
  EXPECT_NEAR(predict(plan, free_link, {speed, half, speed}).step_seconds,
              2 * predict(plan, free_link, {speed}).step_seconds, 1e-12);
}

TEST(Advice, CountsWhatTheBusiestRankSends) {
  const Prediction pipeline = predict(plan_of(1, 3, 4, 6), slow_link, {speed});
  const std::int64_t boundary = 4 * 32 * 64;
  const std::int64_t table = 8 * shape::message_words(259 * 64);
  EXPECT_EQ(pipeline.sent_bytes, 6 * boundary + table);  // the first stage sends activations and its use of the table
  EXPECT_NEAR(pipeline.sending_seconds, 7 * 0.0005 + (6 * boundary + table) / 1.25e6, 1e-9);
}

TEST(Advice, PrefersPipelinesOnSlowLinksAndDataParallelOnFastOnes) {
  const auto plans = layouts_of(plan_of(1, 3, 4, 12));
  const auto seconds = [&](std::size_t i, const schedule::Link& link) {
    return predict(plans[i], link, {speed}).step_seconds;
  };
  EXPECT_LT(seconds(0, slow_link), seconds(1, slow_link));
  EXPECT_GT(seconds(0, free_link), seconds(1, free_link));
}

TEST(Advice, ReadsTheSpeedOfARankFromTheSecondsOfItsSteps) {
  const Plan plan = plan_of(1, 3, 4, 12);
  for (int grid_rank = 0; grid_rank < 3; ++grid_rank) {
    double units = 0;
    const auto costs = shape::segment_costs(plan.model(), 32);
    for (int s = plan.program.first_segment(grid_rank); s < plan.program.end_segment(grid_rank); ++s)
      units += costs[static_cast<std::size_t>(s)];
    const double forward = 5 * 12 * 32 * units * 3e-9;  // 5 steps of 12 microbatches
    const RankSpeed read = speed_of(plan, grid_rank, {{"fwd", forward}, {"bwd", 2 * forward}, {"wait", 9}}, 5);
    EXPECT_NEAR(read.forward_seconds, 3e-9, 1e-15);
    EXPECT_NEAR(read.backward_seconds, 6e-9, 1e-15);
    EXPECT_EQ(read.tail_seconds, 0);
  }
}

TEST(Advice, SaysWhatALinkCosts) {
  const std::vector<Prediction> all{{1, 3, 12, 768, 2 << 20, 1.8, 2.1}, {3, 1, 12, 768, 3 << 20, 2.9, 3.4}};
  EXPECT_EQ(describe_link({0.0004, 1.175e6}, all),
            "link    0.4 ms, 9.4 Mbit/s between neighbours; the most a rank sends in a step: pp 3 2.00 MiB (1.8 s), "
            "dp 3 3.00 MiB (2.9 s)");
  EXPECT_THAT(describe_link({0.0004, 1.25e9}, all), HasSubstr("10 Gbit/s"));
}

TEST(Advice, RanksLayoutsByTokensPerSecondAndSaysWhenAnotherIsFaster) {
  const std::vector<Prediction> all{{1, 3, 4, 512, 0, 0, 2.0}, {3, 1, 3, 384, 0, 0, 3.0}};
  EXPECT_EQ(describe_layouts(all, {1, 3}),
            "layouts pp 3 256 tokens/s (2.0 s a step, this run), dp 3 128 tokens/s (3.0 s a step of 3 microbatches)");
  EXPECT_EQ(describe_layouts(all, {3, 1}),
            "layouts pp 3 256 tokens/s (2.0 s a step of 4 microbatches), dp 3 128 tokens/s (3.0 s a step, this run); "
            "--dp 1 --pp 3 would be 2.00 times as fast");
}

}  // namespace
}  // namespace troika::plan
