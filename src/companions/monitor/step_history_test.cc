#include "monitor/step_history.h"

#include <gmock/gmock.h>

#include <cmath>

namespace troika::monitor {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::deque<metrics::StepMetrics> rows(std::int64_t from, std::int64_t to) {
  std::deque<metrics::StepMetrics> all;
  for (std::int64_t step = from; step <= to; ++step) {
    metrics::StepMetrics row;
    row.step = step;
    row.loss = static_cast<double>(step);
    all.push_back(row);
  }
  return all;
}

TEST(MonitorHistory, KeepsMeansOfNeighboursWhereThereAreManySteps) {
  Thinned series;
  for (int i = 0; i < 512; ++i) series.add(i);
  EXPECT_THAT(series.points(), SizeIs(512));
  for (int i = 512; i < 100'000; ++i) series.add(i);
  const std::vector<double> points = series.points();
  EXPECT_GT(points.size(), 256u);
  EXPECT_LE(points.size(), 512u);
  EXPECT_DOUBLE_EQ(points[0], 127.5);  // of 256 steps
  EXPECT_GT(points.back(), 99'000);
}

TEST(MonitorHistory, WhatIsNotFiniteLeavesAGapOnlyWhereNothingElseIs) {
  Thinned series;
  series.add(1);
  series.add(std::nan(""));
  series.add(3);
  EXPECT_TRUE(std::isnan(series.points()[1]));
  Thinned thinned;
  for (int i = 0; i < 1024; ++i) thinned.add(i % 2 == 0 ? 5 : std::nan(""));
  for (const double point : thinned.points()) EXPECT_EQ(point, 5);
}

TEST(MonitorHistory, TakesEachRowOnceAlsoWhenOldOnesAreDropped) {
  StepHistory history;
  auto kept = rows(1, 10);
  history.update(kept, 10);
  history.update(kept, 10);
  EXPECT_THAT(history.loss.points(), SizeIs(10));
  kept = rows(8, 15);  // the reader keeps the last 8
  history.update(kept, 15);
  EXPECT_THAT(history.loss.points(), SizeIs(15));
  EXPECT_EQ(history.last_step, 15);
}

TEST(MonitorHistory, AFileThatWasCutAndContinuedIsTakenAnew) {
  StepHistory history;
  history.update(rows(1, 10), 10);
  history.update(rows(1, 4), 4);
  EXPECT_THAT(history.loss.points(), ElementsAre(1, 2, 3, 4));
  history.update(rows(1, 12), 12);  // cut to 2 and continued beyond what was read
  EXPECT_THAT(history.loss.points(), SizeIs(12));
  EXPECT_EQ(history.first_step, 1);
}

}  // namespace
}  // namespace troika::monitor
