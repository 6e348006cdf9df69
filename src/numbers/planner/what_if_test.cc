#include "planner/what_if.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/temporary_folder_test_support.h"
#include "planner/recorded_run_test_support.h"

namespace troika::planner {
namespace {
using testing::HasSubstr;

constexpr double tolerance = 1e-6;  // of the step: the merged file's times are microseconds with all their digits

// A run that was simulated with made-up costs, and what the same costs make of a change.
class MadeUpRun {
 public:
  MadeUpRun(const plan::Plan& plan, SaysItsLink says = SaysItsLink::yes)
      : hosts_(host_for_each(static_cast<int>(plan.program.ranks.size()))), plan_(plan) {
    write_run(folder_.path(), plan_, replay(), 3, says);
  }

  Replay replay() const { return made_up(plan_, hosts_, made_up_link); }
  WhatIf ask(const std::vector<std::string>& words) const { return what_if(folder_.path(), words); }
  std::string refused_words(const std::vector<std::string>& words) const {
    return refused<base::ConfigError>([&] { ask(words); });
  }
  const MadeUpHosts& hosts() const { return hosts_; }

 private:
  const base::TemporaryFolder folder_;
  const MadeUpHosts hosts_;
  const plan::Plan plan_;
};

void expect_seconds(double got, double wanted) { EXPECT_NEAR(got / wanted, 1, tolerance) << got << " " << wanted; }

std::vector<plan::Plan> plans() {
  std::vector<plan::Plan> all;
  all.push_back(made_up_plan(1, 3, 0, 2));
  all.push_back(made_up_plan(3, 1, 0, 1));
  all.push_back(made_up_plan(3, 1, 1, 1));
  all.push_back(made_up_plan(3, 1, 3, 1));
  all.push_back(made_up_plan(2, 2, 2, 1));
  return all;
}

TEST(WhatIf, ReplaysAStepToWhatItWasRecordedAs) {
  for (const plan::Plan& plan : plans()) {
    const MadeUpRun run(plan);
    const WhatIf answer = run.ask({"link x1"});
    const double wanted = seconds_of_step(run.replay());
    expect_seconds(answer.measured.step_seconds, wanted);
    expect_seconds(answer.replayed.step_seconds, wanted);
    expect_seconds(answer.changed.step_seconds, wanted);
    const StepShares &replayed = answer.replayed, &measured = answer.measured;
    EXPECT_NEAR(replayed.compute_seconds, measured.compute_seconds, tolerance * wanted);
    EXPECT_NEAR(replayed.communication_seconds, measured.communication_seconds, tolerance * wanted);
    EXPECT_NEAR(replayed.bubble_seconds, measured.bubble_seconds, tolerance * wanted);
  }
}

TEST(WhatIf, ALinkTenTimesAsFastIsTheSimulationWithThatLink) {
  for (const plan::Plan& plan : plans()) {
    const MadeUpRun run(plan);
    Replay faster = run.replay();
    faster.links.between.bytes_per_second *= 10;
    expect_seconds(run.ask({"link x10"}).changed.step_seconds, seconds_of_step(faster));
    faster.links.between = {made_up_link.latency_seconds * 3, 1e6};
    expect_seconds(run.ask({"link 8Mbit/s", "latency x3"}).changed.step_seconds, seconds_of_step(faster));
  }
}

TEST(WhatIf, AHostAtHalfSpeedIsTheSimulationWithThatHost) {
  for (const plan::Plan& plan : plans()) {
    const MadeUpRun run(plan);
    Replay slower = run.replay();
    slower.host_factors[1] = 0.5;
    for (const char* host : {"1", "h1"})
      expect_seconds(run.ask({"host", host, "x0.5"}).changed.step_seconds, seconds_of_step(slower));
  }
}

TEST(WhatIf, AnotherScheduleIsTheSimulationOfItsProgram) {
  const MadeUpRun run(made_up_plan(1, 3, 0, 2));
  for (const config::Schedule schedule : {config::Schedule::zb_h1, config::Schedule::gpipe}) {
    config::Settings settings = made_up_plan(1, 3, 0, 2).resolved.settings;
    settings.parallel.schedule = schedule;
    const plan::Plan other = plan::make_plan(config::resolve(settings, 3), made_up_plan(1, 3, 0, 2).data);
    expect_seconds(run.ask({"schedule", config::word_of(schedule)}).changed.step_seconds,
                   seconds_of_step(made_up(other, run.hosts(), made_up_link)));
  }
}

TEST(WhatIf, AnotherMicrobatchIsTheSimulationWithIt) {
  const MadeUpRun run(made_up_plan(1, 3, 0, 2));
  const plan::Plan other = made_up_plan(1, 3, 0, 4);
  const WhatIf answer = run.ask({"micro_batch", "4"});
  expect_seconds(answer.changed.step_seconds, seconds_of_step(made_up(other, run.hosts(), made_up_link)));
  EXPECT_EQ(answer.changed_tokens, answer.tokens);
  EXPECT_EQ(answer.changed_layout.english, "pp 3, 1f1b, 3 microbatches of 4 x 32 tokens");
}

TEST(WhatIf, MoreHostsAreReplicasOrStages) {
  const MadeUpRun replicas(made_up_plan(3, 1, 1, 1));
  EXPECT_EQ(replicas.ask({"+1 host"}).changed_layout.english, "dp 4, zero 1, 12 microbatches of 1 x 32 tokens");
  EXPECT_EQ(replicas.ask({"-1 host"}).changed_layout.english, "dp 2, zero 1, 12 microbatches of 1 x 32 tokens");
  EXPECT_LT(replicas.ask({"+1 host", "link x1000"}).changed.compute_seconds,
            replicas.ask({"link x1000"}).changed.compute_seconds);
  const MadeUpRun stages(made_up_plan(1, 3, 0, 2));
  EXPECT_EQ(stages.ask({"+1 host"}).changed_layout.english, "pp 4, 1f1b, 6 microbatches of 2 x 32 tokens");
  const MadeUpRun both(made_up_plan(2, 2, 0, 1));
  EXPECT_THAT(both.refused_words({"+1 host"}), HasSubstr("5 ranks are no multiple of pp 2"));
  EXPECT_EQ(both.ask({"+2 hosts"}).changed_layout.english, "dp 3 x pp 2, 1f1b, 12 microbatches of 1 x 32 tokens");
}

TEST(WhatIf, AsksForTheLinkToAHostBesideTheOnlyOne) {
  const base::TemporaryFolder folder;
  const plan::Plan plan = made_up_plan(2, 1, 0, 1);
  const MadeUpHosts one_host{{1, 1}, {0, 0}};
  write_run(folder.path(), plan, made_up(plan, one_host, {1e-6, 1e10}), 3);
  EXPECT_THAT(refused<base::ConfigError>([&] { what_if(folder.path(), {"+1 host"}); }),
              HasSubstr("no link between hosts, for it had one; say what it carries"));
  const WhatIf answer = what_if(folder.path(), {"+1 host", "link 100Mbit/s"});
  EXPECT_EQ(answer.changed_layout.english, "dp 4, 12 microbatches of 1 x 32 tokens");
  EXPECT_EQ(answer.changed_link->bytes_per_second, 12.5e6);
  EXPECT_THAT(refused<base::ConfigError>([&] { what_if(folder.path(), {"-1 host"}); }), HasSubstr("one host"));
}

TEST(WhatIf, FitsTheLinkWhereTheRunDoesNotTellIt) {
  const MadeUpRun run(made_up_plan(3, 1, 1, 1), SaysItsLink::no);
  const WhatIf answer = run.ask({"link x0.1"});
  EXPECT_EQ(answer.link_from, WhatIf::LinkFrom::transfers);
  Replay slower = run.replay();
  slower.links.between.bytes_per_second /= 10;
  expect_seconds(answer.changed.step_seconds, seconds_of_step(slower));
}

TEST(WhatIf, RangesOverTheStepsThatWereRecorded) {
  const base::TemporaryFolder folder;
  const plan::Plan plan = made_up_plan(1, 3, 0, 2);
  std::vector<double> seconds;
  for (const double factor : {1.0, 0.8, 1.3}) {
    Replay replay = made_up(plan, host_for_each(3), made_up_link);
    for (double& host : replay.host_factors) host = factor;
    write_run(folder.path(), plan, replay, 3 + static_cast<std::int64_t>(seconds.size()));
    replay.links.between.bytes_per_second /= 10;
    seconds.push_back(seconds_of_step(replay));
  }
  const WhatIf answer = what_if(folder.path(), {"link x0.1"});
  EXPECT_EQ(answer.steps, (std::vector<std::int64_t>{3, 4, 5}));
  expect_seconds(answer.changed.step_seconds, seconds[0]);
  EXPECT_LE(answer.lowest_seconds, seconds[2] * (1 + tolerance));
  EXPECT_GE(answer.highest_seconds, seconds[1] * (1 - tolerance));
}

TEST(WhatIf, SaysWhatLimitsTheStep) {
  const MadeUpRun run(made_up_plan(1, 3, 0, 2));
  EXPECT_THAT(run.ask({"link x0.01"}).limit.english, HasSubstr("the links limit it"));
  EXPECT_THAT(run.ask({"host", "1", "x0.02", "link x1000"}).limit.english, HasSubstr("host 1 (h1) limits it"));
  const MadeUpRun replicas(made_up_plan(3, 1, 0, 1));
  EXPECT_THAT(replicas.ask({"link x1000", "host", "1", "x0.8", "host", "2", "x0.6667"}).limit.english,
              HasSubstr("computing limits it"));
}

TEST(WhatIf, RefusesHostsAndSchedulesThatCannotBe) {
  const MadeUpRun run(made_up_plan(3, 1, 0, 1));
  EXPECT_THAT(run.refused_words({"host", "3", "x2"}),
              HasSubstr("there is no host 3; the run had 0 (h0), 1 (h1), 2 (h2)"));
  EXPECT_THAT(run.refused_words({"-3 hosts"}), HasSubstr("leave none; take away 2 at most"));
  EXPECT_THAT(run.refused_words({"schedule", "interleaved"}), HasSubstr("pp"));
  EXPECT_THAT(run.refused_words({"micro_batch", "5"}), HasSubstr("with the change that --what-if asks for"));
  EXPECT_THAT(run.refused_words({"-1 host", "host", "2", "x2"}), HasSubstr("host 2 is changed and taken away"));
}

TEST(WhatIf, IsATableForPeopleAndAnObjectForPrograms) {
  const MadeUpRun run(made_up_plan(1, 3, 0, 2));
  const WhatIf answer = run.ask({"link x0.1"});
  const std::string text = to_text(answer, base::Language::english);
  for (const char* part : {"measured", "replayed", "with change", "range", "limit", "record several", "10 Mbit/s"})
    EXPECT_THAT(text, HasSubstr(part));
  const auto json = nlohmann::json::parse(to_json(answer, base::Language::english));
  EXPECT_EQ(json["with_change"]["step_seconds"], answer.changed.step_seconds);
  EXPECT_EQ(json["measured"]["step_seconds"], answer.measured.step_seconds);
  EXPECT_EQ(json["link_from"], "run");
  EXPECT_EQ(json["changes"], "link x0.1");
}

}  // namespace
}  // namespace troika::planner
