#include "schedule/trace/summary.h"

#include <gmock/gmock.h>

#include "schedule/shape_test_support.h"
#include "schedule/simulate/simulator.h"
#include "schedule/simulate/table_costs_test_support.h"

namespace troika::schedule {
namespace {

using ::testing::HasSubstr;

Event event(const char* text, Event::Activity activity, double begin, double end) {
  return {parse_instruction(text), activity, begin, end};
}

using Activity = Event::Activity;

// Two ranks, one microbatch: fwd 1 s each, bwd 2 s each, 0.5 s on the wire in both directions, 1 s of norm exchange.
StepTrace two_ranks() {
  StepTrace trace;
  trace.ranks.push_back({0,
                         0,
                         "a",
                         {event("fwd 0.0", Activity::compute, 0, 1), event("send_act 0.0", Activity::transfer, 1, 1.5),
                          event("bwd 0.0", Activity::wait, 1, 5), event("bwd 0.0", Activity::compute, 5, 7),
                          event("norm", Activity::wait, 7, 8), event("step", Activity::compute, 8, 9)}});
  trace.ranks.push_back({1,
                         1,
                         "b",
                         {event("fwd 0.1", Activity::wait, 0, 1.5), event("fwd 0.1", Activity::compute, 1.5, 2.5),
                          event("bwd 0.1", Activity::compute, 2.5, 4.5), event("norm", Activity::wait, 4.5, 8),
                          event("step", Activity::compute, 8, 9)}});
  return trace;
}

TEST(Summary, WaitIsCommunicationOnlyOnceThePeerHasProducedTheData) {
  const StepSummary summary = summarize(two_ranks());
  ASSERT_EQ(summary.ranks.size(), 2U);
  const TimeShares& a = summary.ranks[0].time;
  EXPECT_DOUBLE_EQ(a.span_seconds, 9);
  EXPECT_DOUBLE_EQ(a.compute_seconds, 4);
  EXPECT_DOUBLE_EQ(a.communication_seconds, 0.5 + 1);  // gradient from 4.5 to 5, norm from 7 to 8
  EXPECT_DOUBLE_EQ(a.bubble_seconds, 3.5);
  const TimeShares& b = summary.ranks[1].time;
  EXPECT_DOUBLE_EQ(b.communication_seconds, 0.5 + 1);  // activation from 1 to 1.5, norm once rank 0 has come at 7
  EXPECT_DOUBLE_EQ(b.bubble_seconds, 9 - 4 - 1.5);
  EXPECT_DOUBLE_EQ(summary.total.span_seconds, 18);
  EXPECT_DOUBLE_EQ(summary.total.communication_seconds, 3);
  EXPECT_DOUBLE_EQ(summary.step_seconds, 9);
}

TEST(Summary, PipelineBubbleLeavesReductionNormAndStepOut) {
  const StepSummary summary = summarize(two_ranks());
  EXPECT_DOUBLE_EQ(summary.window_seconds, 7);
  EXPECT_DOUBLE_EQ(summary.ranks[0].pipeline_bubble_share, 1 - 3.5 / 7);
  EXPECT_DOUBLE_EQ(summary.ranks[1].pipeline_bubble_share, 1 - 3.5 / 7);
  EXPECT_DOUBLE_EQ(summary.pipeline_bubble_share, 0.5);
}

TEST(Summary, TransferOfABlockingExchangeCountsAsAWait) {
  StepTrace trace;
  trace.ranks.push_back({0,
                         0,
                         "a",
                         {event("bwd 0.0", Activity::compute, 0, 1), event("reduce_tied *.0", Activity::transfer, 1, 5),
                          event("reduce_tied *.0", Activity::compute, 2.5, 3), event("norm", Activity::wait, 5, 6),
                          event("norm", Activity::transfer, 5, 6)}});
  trace.ranks.push_back(
      {1, 1, "b", {event("bwd 1.0", Activity::compute, 0, 2), event("reduce_tied *.1", Activity::transfer, 2, 5)}});
  const StepSummary summary = summarize(trace);
  EXPECT_DOUBLE_EQ(summary.ranks[0].time.communication_seconds, 0.5 + 2 + 1);  // from 2, when rank 1 came
  EXPECT_DOUBLE_EQ(summary.ranks[1].time.communication_seconds, 3);
  EXPECT_DOUBLE_EQ(summary.ranks[0].time.compute_seconds, 1.5);
}

TEST(Summary, WaitsForReductionsTotalsAndParametersAreCommunicationOnceAllRanksHaveCome) {
  StepTrace trace;
  trace.ranks.push_back(
      {0,
       0,
       "a",
       {event("reduce_grads *.0.3", Activity::transfer, 0, 6), event("gather_grads *.0.3", Activity::wait, 1, 6),
        event("gather_grads *.0.3", Activity::transfer, 6, 9), event("step *.0", Activity::wait, 7, 9),
        event("gather_params *.0.3", Activity::transfer, 9, 14),
        event("gather_params *.0.3", Activity::wait, 10, 14)}});
  trace.ranks.push_back(
      {1,
       1,
       "b",
       {event("reduce_grads *.0.3", Activity::transfer, 4, 6), event("gather_grads *.0.3", Activity::transfer, 8, 9),
        event("gather_params *.0.3", Activity::transfer, 12, 14)}});
  // 6 - 4 for the reduction, 9 - 8 for the totals, 14 - 12 for the parameters; the overlapped transfers count nothing.
  const auto intervals = communication_intervals(trace);
  ASSERT_EQ(intervals[0].size(), 3U);
  EXPECT_DOUBLE_EQ(intervals[0][0].begin, 4);
  EXPECT_DOUBLE_EQ(intervals[0][1].begin, 8);
  EXPECT_DOUBLE_EQ(intervals[0][2].begin, 12);
  EXPECT_TRUE(intervals[1].empty());
}

TEST(Summary, WaitForParametersBeforeAUseIsCommunication) {
  StepTrace trace;
  trace.ranks.push_back(
      {0, 0, "a", {event("fwd 0.0.1", Activity::wait, 1, 3), event("fwd 0.0.1", Activity::compute, 3, 4)}});
  EXPECT_DOUBLE_EQ(summarize(trace).ranks[0].time.communication_seconds, 2);
}

TEST(Summary, SlowLinkMovesTimeFromBubbleToCommunication) {
  StepShape shape = shape_of(3, 1, 12);
  shape.boundary_bytes = 1000;
  const Program program = build("1f1b", shape);
  const CostTable table = {{{Kind::fwd, -1}, 0.1}, {{Kind::bwd, -1}, 0.2}};
  const StepSummary fast = summarize(simulate(program, table_costs(table, {})));
  const StepSummary slow = summarize(simulate(program, table_costs(table, {0, 10000})));
  EXPECT_DOUBLE_EQ(fast.total.communication_seconds, 0);
  EXPECT_GT(slow.total.communication_seconds, 0.1);
  EXPECT_NEAR(slow.total.compute_seconds, fast.total.compute_seconds, 1e-9);
}

TEST(Summary, EmptyTraceHasNoShares) {
  const StepSummary summary = summarize(StepTrace{});
  EXPECT_EQ(summary.step_seconds, 0);
  EXPECT_EQ(summary.total.share(1), 0);
}

TEST(Summary, TableHasARowPerRankAndATotal) {
  const std::string text = to_text(summarize(two_ranks()), base::Language::english);
  EXPECT_THAT(text, HasSubstr("rank 0"));
  EXPECT_THAT(text, HasSubstr("44.4%"));
  EXPECT_THAT(text, HasSubstr("16.7%"));
  EXPECT_THAT(text, HasSubstr("pipeline bubble 50.0%"));
}

TEST(Grid, ShowsCommunicationAndIdleOfATrace) {
  EXPECT_EQ(grid(two_ranks()),
            "one column = 1.0 s\n"
            "rank 0 | F0 .  .  .  .  B0 B0 ~  S\n"
            "rank 1 | .  F0 B0 B0 .  .  .  ~  S\n");
}

TEST(Grid, FitsLongStepsIntoTheWidth) {
  const StepShape shape = shape_of(3, 1, 120);
  const std::string text = grid(simulate(build("1f1b", shape), unit_costs()), 100);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100U);
    begin = end + 1;
  }
}

TEST(Grid, ColumnsLongerThanAForwardHideNoComputation) {
  const StepShape shape = shape_of(3, 1, 12);
  const CostModel costs = table_costs({{{Kind::fwd, -1}, 0.05}, {{Kind::bwd, -1}, 0.1}}, {});
  const std::string text = grid(simulate(build("1f1b", shape), costs), 160);
  for (const char* what : {"F", "B"}) {
    for (int m = 0; m < 12; ++m) {
      const std::string cell = what + std::to_string(m) + " ";
      for (std::size_t row = text.find("rank"); row < text.size(); row = text.find('\n', row) + 1) {
        EXPECT_THAT(text.substr(row, text.find('\n', row) - row) + " ", HasSubstr(cell));
      }
    }
  }
}

TEST(Grid, NamesTheStageWhereARankHasSeveral) {
  const std::string text = grid(build("interleaved", shape_of(2, 1, 2, 1, 2)));
  EXPECT_EQ(text,
            "rank 0 | F0.0 F1.0 F0.2 F1.2 .    B0.2 .    B1.2 B0.0 B1.0 S    S\n"
            "rank 1 | .    F0.1 F1.1 F0.3 B0.3 F1.3 B1.3 B0.1 B1.1 .    S    S\n");
}

TEST(Grid, OfAnEmptyTraceHasNoColumns) {
  StepTrace trace;
  EXPECT_EQ(grid(trace).find("rank"), std::string::npos);
  trace.ranks.push_back({0, 0, "a", {}});
  EXPECT_THAT(grid(trace), HasSubstr("rank 0 |"));
}

TEST(Grid, OfAStepWithoutExtentHasNoColumns) {
  StepTrace trace;
  trace.ranks.push_back({0, 0, "a", {{parse_instruction("offload *.0.2"), Event::Activity::compute, 9, 9}}});
  EXPECT_THAT(grid(trace), HasSubstr("rank 0 |"));
}

}  // namespace
}  // namespace troika::schedule
