#include "serve/run_plan.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "schedule/simulate/simulator.h"
#include "schedule/trace/trace_json.h"
#include "serve/planned_run_test_support.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

using base::Language;

nlohmann::json grid_of(const std::string& folder, std::optional<std::int64_t> step = std::nullopt) {
  return nlohmann::json::parse(grid_json(folder, step, {}, Language::english));
}

schedule::StepTrace trace_of(std::int64_t step) {
  schedule::StepTrace trace = schedule::simulate(PlannedRun::plan().program, schedule::unit_costs());
  trace.step = step;
  for (schedule::RankTimeline& rank : trace.ranks) rank.host = "pi" + std::to_string(rank.world_rank / 2);
  return trace;
}

TEST(Grid, IsThatOfTheLastRecordedStep) {
  const PlannedRun run;
  base::make_directories(run.path() + "/timeline");
  for (const std::int64_t step : {3, 20})
    base::write_file_atomic(run.path() + "/timeline/" + schedule::merged_trace_name(step),
                            schedule::write_chrome(trace_of(step)));
  const auto grid = grid_of(run.path());
  EXPECT_EQ(grid["steps"], (std::vector<int>{3, 20}));
  EXPECT_EQ(grid["step"], 20);
  EXPECT_FALSE(grid.contains("simulated"));
  ASSERT_EQ(grid["lanes"].size(), 4U);
  EXPECT_EQ(grid["lanes"][3]["rank"], 3);
  EXPECT_EQ(grid["lanes"][3]["host"], "pi1");
  const auto& first = grid["lanes"][0]["events"][0];
  ASSERT_EQ(first.size(), 5U);
  EXPECT_TRUE(first[0].is_number() && first[1].is_number() && first[2].is_number_integer() && first[3].is_string() &&
              first[4].is_number_integer());
  double end = 0;
  for (const auto& lane : grid["lanes"])
    for (const auto& event : lane["events"]) end = std::max(end, event[1].get<double>());
  EXPECT_DOUBLE_EQ(grid["seconds"].get<double>(), end);
  EXPECT_EQ(grid_of(run.path(), 3)["step"], 3);
}

TEST(Grid, OfRanksFilesWritesNothing) {
  const PlannedRun run;
  base::make_directories(run.path() + "/timeline");
  for (const schedule::RankTimeline& rank : trace_of(5).ranks)
    base::write_file_atomic(run.path() + "/timeline/" + schedule::rank_trace_name(5, rank.world_rank),
                            schedule::write_rank_trace({5, -10.0 * rank.world_rank, rank}));
  const auto grid = grid_of(run.path());
  EXPECT_EQ(grid["lanes"].size(), 4U);
  EXPECT_EQ(base::list_directory(run.path() + "/timeline").size(), 4U);
}

TEST(Grid, OfAStepThatWasNotRecordedIsThatOfThePlan) {
  const PlannedRun run;
  const auto grid = grid_of(run.path(), 7);
  EXPECT_EQ(grid["simulated"], true);
  EXPECT_EQ(grid["step"], 7);
  EXPECT_EQ(grid["steps"], nlohmann::json::array());
  ASSERT_EQ(grid["lanes"].size(), 4U);
  EXPECT_EQ(grid["lanes"][2]["host"], "pi1");
  EXPECT_GT(grid["seconds"], 0);
  EXPECT_EQ(grid_of(run.path())["step"], nullptr);
}

TEST(Grid, OfARunWithoutEitherIsNotThere) {
  const base::TemporaryFolder folder;
  EXPECT_THROW(grid_of(folder.path()), Refused);
  const PlannedRun run;
  base::make_directories(run.path() + "/timeline");
  base::write_file_atomic(run.path() + "/timeline/" + schedule::merged_trace_name(3), "damaged");
  EXPECT_THROW(grid_of(run.path()), base::DataError);
}

TEST(Grid, KeepsTheLongestEventsOfVeryMany) {
  schedule::StepTrace trace = trace_of(1);
  std::size_t all = 0;
  for (schedule::RankTimeline& rank : trace.ranks) all += rank.events.size();
  trace.ranks[0].events[2].end_seconds = trace.ranks[0].events[2].begin_seconds + 1000;
  EXPECT_EQ(keep_longest(trace, all), 0U);
  EXPECT_EQ(keep_longest(trace, 5), all - 5);
  std::size_t left = 0;
  for (schedule::RankTimeline& rank : trace.ranks) left += rank.events.size();
  EXPECT_EQ(left, 5U);
  EXPECT_NEAR(trace.ranks[0].events[0].end_seconds - trace.ranks[0].events[0].begin_seconds, 1000, 1e-6);
}

}  // namespace
}  // namespace troika::serve
