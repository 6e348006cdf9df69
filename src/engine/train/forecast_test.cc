#include "train/forecaster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <tuple>

#include "base/units.h"
#include "machine/profiles.h"
#include "plan/plan_test_support.h"

namespace troika::train {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

planner::RunMachines pis(int hosts, double bytes_per_second) {
  planner::RunMachines machines;
  machines.cluster.hosts = {machine::find_profile("raspberry-pi-4").host};
  machines.cluster.hosts.front().count = hosts;
  machines.cluster.network = {0.0005, bytes_per_second};
  machines.ranks_per_host = 1;
  return machines;
}

class ForecastOfThreePis : public testing::Test {
 protected:
  explicit ForecastOfThreePis(double bytes_per_second = 1e8)
      : link_{0.0005, bytes_per_second}, plan_(plan()), forecast_(plan_, pis(3, bytes_per_second), link_) {}

  static plan::Plan plan() {
    config::Settings s = plan::small_settings();
    s.model.hidden = 256;
    s.model.ffn = 768;
    s.parallel.pp = 3;
    return plan::small_plan(s, 3);
  }

  // As predicted, but for factors on computing and on the whole step.
  StepsTaken taken(double compute, double step) const {
    const planner::TimeSplit& t = forecast_.estimate().time;
    StepsTaken taken{10, step * t.step, {}};
    for (int rank = 0; rank < 3; ++rank)
      taken.ranks.push_back({compute * t.compute, t.optimizer, 0, forecast_.estimate().memory.total() - forecast_.estimate().memory.program, 0});
    return taken;
  }
  static std::string all(const std::vector<base::Text>& lines) {
    std::string text;
    for (const base::Text& line : lines) text += line.english + "\n";
    return text;
  }

  const schedule::Link link_;
  const plan::Plan plan_;
  const Forecast forecast_;
};

class ForecastOverASlowLink : public ForecastOfThreePis {
 protected:
  ForecastOverASlowLink() : ForecastOfThreePis(1e4) {}
};

TEST_F(ForecastOfThreePis, SaysTheLinkAndTheLayouts) {
  const std::string text = all(forecast_.before());
  EXPECT_THAT(text,
              AllOf(HasSubstr("link    500 us, 800 Mbit/s between neighbors; the most a rank sends in a step: pp 3"),
                    HasSubstr("layouts "), HasSubstr(", this run)")));
}

TEST_F(ForecastOverASlowLink, SaysFirstThatFewerHostsWouldBeFaster) {
  const std::vector<base::Text> lines = forecast_.before();
  EXPECT_THAT(lines.front().english, HasSubstr("hosts   this run is slower on 3 hosts than on 1: with one rank"));
}

TEST_F(ForecastOfThreePis, OfARunAsPredictedNeedsNoCauses) {
  const std::string text = all(forecast_.after(taken(1, 1.01)));
  EXPECT_THAT(text,
              AllOf(HasSubstr("predicted "), HasSubstr("measured  "), HasSubstr("1.0 % longer"),
                    HasSubstr("memory 0.0 %"), HasSubstr("times of 10 steps, times 1."), Not(HasSubstr("why "))));
}

TEST_F(ForecastOfThreePis, ExplainsTheDriftByPart) {
  const double grown = forecast_.estimate().time.compute / forecast_.estimate().time.step;
  const std::string slow = all(forecast_.after(taken(2, 1 + grown)));
  EXPECT_THAT(slow, AllOf(HasSubstr("why       computing took "), HasSubstr(" a step instead of "),
                          HasSubstr("other work"), Not(HasSubstr("waiting took"))));
  const std::string waited = all(forecast_.after(taken(1, 1.5)));
  EXPECT_THAT(waited, AllOf(HasSubstr("why       waiting took "), HasSubstr("the link's rate changed since it was measured"),
                            Not(HasSubstr("computing took"))));
}

TEST_F(ForecastOfThreePis, SaysWhereCausesMayBeChance) {
  StepsTaken few = taken(1, 1.5), many = few;
  few.steps = static_cast<std::int64_t>(9 / few.step_seconds);
  many.steps = few.steps + static_cast<std::int64_t>(2 / few.step_seconds) + 1;
  EXPECT_THAT(all(forecast_.after(few)), HasSubstr("measurements of less than 10 s may be noise"));
  EXPECT_THAT(all(forecast_.after(many)), AllOf(HasSubstr("why "), Not(HasSubstr("noise"))));
}

TEST_F(ForecastOfThreePis, SaysWhatOfTheMemoryWasPlannedAndWhatWasFound) {
  StepsTaken steps = taken(1, 1);
  for (RankTaken& rank : steps.ranks) rank.program_bytes = 90 << 20;
  EXPECT_THAT(all(forecast_.after(steps)),
              HasSubstr(fmt::format(" a rank (planned {}, with 100.0 MiB instead of {} for the program)",
                                    base::format_bytes(forecast_.estimate().memory.total()),
                                    base::format_bytes(forecast_.estimate().memory.program))));
}

TEST_F(ForecastOfThreePis, PutsThisRunAmongTheLayoutsAsItWasMeasured) {
  for (const double step : {0.25, 1.0, 4.0}) {  // as where ranks wait for a core, which the simulation does not see
    const std::string text = all(forecast_.after(taken(2, step)));
    EXPECT_THAT(text, AllOf(HasSubstr(fmt::format("({} a step, this run)",
                                                  base::format_duration(step * forecast_.estimate().time.step))),
                            HasSubstr("(this run as measured; the others simulated from ")));
  }
}

TEST_F(ForecastOfThreePis, ARankWithLittleToDoDoesNotSlowTheOthersDown) {
  StepsTaken even = taken(1, 1), uneven = even;
  uneven.ranks[0].optimizer *= 1.5;
  uneven.ranks[1].optimizer *= 0.75;
  uneven.ranks[2].optimizer *= 0.75;
  const auto scale = [&](const StepsTaken& t) {
    const std::string text = all(forecast_.after(t));
    const auto at = text.find(", times ");
    return text.substr(at, text.find(':', at) - at);
  };
  EXPECT_EQ(scale(even), scale(uneven));
}

class ForecastOfATensorGroup : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(ForecastOfATensorGroup, SaysWhatItsRanksSendInsidePasses) {
  config::Settings s = plan::small_settings();
  std::tie(s.parallel.tp, s.parallel.cp) = GetParam();
  const plan::Plan plan = plan::small_plan(s, 2);
  const Forecast forecast(plan, pis(2, 1e8), {0.0005, 1e8});
  const std::int64_t rows = s.batch.seq_len * s.batch.micro_batch_size.value_or(1) * s.model.hidden * 4;
  EXPECT_GT(forecast.estimate().sent_bytes, rows);
  EXPECT_THAT(forecast.before().front().english, Not(HasSubstr(" 0 B ")));
}

INSTANTIATE_TEST_SUITE_P(Both, ForecastOfATensorGroup, testing::Values(std::pair(2, 1), std::pair(1, 2)));

TEST_F(ForecastOfThreePis, TellsHowFarEachRankIsOff) {
  const planner::RunMachines machines = pis(3, 1e8);
  const planner::Column column{plan_, plan_.stages, plan_.program, planner::Pipelines::whole};
  const auto predicted = time_of_ranks(column, machine::Placement(machines.cluster, 3, machines.ranks_per_host));
  StepsTaken taken{10, 1, {}};
  for (int rank = 0; rank < 3; ++rank) {
    const planner::TimeSplit& t = predicted[static_cast<std::size_t>(rank)];
    taken.ranks.push_back({(rank + 1) * t.compute, (rank + 2) * t.optimizer, 0, 0, 0});
  }
  const std::vector<Drift> drifts = forecast_.drifts(taken);
  ASSERT_EQ(drifts.size(), 3u);
  EXPECT_NE(predicted[0].compute, predicted[2].compute);  // a rank compared with another would show
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_NEAR(drifts[rank].compute, static_cast<double>(rank) + 1, 1e-9);
    EXPECT_NEAR(drifts[rank].optimizer, static_cast<double>(rank) + 2, 1e-9);
  }
}

}  // namespace
}  // namespace troika::train
