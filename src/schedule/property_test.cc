// What must hold for every layout, not only for the chosen examples.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "schedule/schedule.h"

namespace troika::schedule {
namespace {

struct Case {
  std::string schedule;
  PipelineShape shape;

  std::string text() const {
    return schedule + " pp " + std::to_string(shape.pp) + " dp " + std::to_string(shape.dp) + " m " +
           std::to_string(shape.microbatches);
  }
  int share() const { return shape.microbatches / shape.dp; }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& schedule : schedule_names()) {
    for (int pp = 1; pp <= 6; ++pp) {
      for (int dp = 1; dp <= 3; ++dp) {
        for (const int share : {1, 2, 3, 4, 5, 8, 13}) {
          PipelineShape shape;
          shape.pp = pp;
          shape.dp = dp;
          shape.microbatches = share * dp;
          shape.tied = (pp + dp + share) % 2 == 0;
          shape.boundary_bytes = 100;
          all.push_back({schedule, shape});
        }
      }
    }
  }
  return all;
}

TEST(EveryLayout, PassesTheCheckerWithinTheBoundOfItsSchedule) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    const Bounds promised = bounds(c.schedule, c.shape);
    const Report report = check(build(c.schedule, c.shape), promised);
    EXPECT_EQ(report.max_in_flight, promised.max_in_flight);
  }
}

TEST(EveryLayout, OneFOneBKeepsAtMostPMinusSInFlight) {
  for (const Case& c : cases()) {
    if (c.schedule != "1f1b") continue;
    SCOPED_TRACE(c.text());
    const Report report = check(build_1f1b(c.shape), {});
    for (std::size_t lane = 0; lane < report.max_in_flight.size(); ++lane) {
      const int stage = static_cast<int>(lane) / c.shape.dp;
      EXPECT_LE(report.max_in_flight[lane], c.shape.pp - stage);
    }
  }
}

TEST(EveryLayout, BubbleOfEqualStagesOnAFreeLinkIsTheFormula) {
  const CostModel costs = table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::bwd, -1}, 2.0}, {{Kind::step, -1}, 0.5}}, {});
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    const StepSummary summary = summarize(simulate(build(c.schedule, c.shape), costs));
    const double formula = static_cast<double>(c.shape.pp - 1) / (c.share() + c.shape.pp - 1);
    EXPECT_NEAR(summary.pipeline_bubble_share, formula, 1e-9);
    EXPECT_NEAR(summary.window_seconds, 3.0 * (c.share() + c.shape.pp - 1), 1e-9);
    EXPECT_NEAR(summary.total.communication_seconds, 0, 1e-9);
  }
}

TEST(EveryLayout, FastLinkStaysWithinThreePointsOfTheFormula) {
  const CostModel costs = table_costs({{{Kind::fwd, -1}, 0.010}, {{Kind::bwd, -1}, 0.020}}, {50e-6, 1e9});
  for (Case c : cases()) {
    SCOPED_TRACE(c.text());
    c.shape.boundary_bytes = 100000;
    const StepSummary summary = summarize(simulate(build(c.schedule, c.shape), costs));
    const double formula = static_cast<double>(c.shape.pp - 1) / (c.share() + c.shape.pp - 1);
    EXPECT_NEAR(summary.pipeline_bubble_share, formula, 0.03);
  }
}

// Any costs and links, drawn at random: simulation ends, nothing overlaps on a lane, shares add up, and running it
// again gives the same trace.
TEST(EveryLayout, SimulatesSoundlyWithRandomCosts) {
  std::uint64_t draw = 0;
  const base::Philox random(7, "random costs");
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    CostTable table;
    for (int s = 0; s < c.shape.pp; ++s) {
      table[{Kind::fwd, s}] = random.uniform(draw++);
      table[{Kind::bwd, s}] = 2 * random.uniform(draw++);
    }
    const CostModel costs = table_costs(table, {0.3 * random.uniform(draw++), 100 / (0.01 + random.uniform(draw++))});
    const Program program = build(c.schedule, c.shape);
    const StepTrace trace = simulate(program, costs);
    EXPECT_EQ(write_chrome(trace), write_chrome(simulate(program, costs)));
    for (const auto& lane : trace.lanes) {
      double busy_until = 0;
      for (const auto& event : lane.events) {
        if (event.activity == Event::Activity::transfer) continue;
        EXPECT_GE(event.begin_seconds, busy_until);
        busy_until = event.end_seconds;
      }
    }
    for (const auto& lane : summarize(trace).lanes) {
      const auto& t = lane.time;
      EXPECT_NEAR(t.compute_seconds + t.communication_seconds + t.bubble_seconds, t.span_seconds, 1e-9);
    }
  }
}

// Removing any single instruction from a sound program makes it unsound.
TEST(EveryLayout, NoInstructionIsDispensable) {
  PipelineShape shape;
  shape.pp = 3;
  shape.dp = 2;
  shape.microbatches = 6;
  shape.tied = true;
  for (const auto& schedule : schedule_names()) {
    const Program sound = build(schedule, shape);
    for (std::size_t lane = 0; lane < sound.lanes.size(); ++lane) {
      for (std::size_t i = 0; i < sound.lanes[lane].size(); ++i) {
        Program broken = sound;
        broken.lanes[lane].erase(broken.lanes[lane].begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_ANY_THROW(check(broken, {}))
            << schedule << " without " << to_text(sound.lanes[lane][i]) << " on lane " << lane;
      }
    }
  }
}

}  // namespace
}  // namespace troika::schedule
