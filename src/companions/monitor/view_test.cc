#include "monitor/view.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "monitor/made_run_test_support.h"
#include "monitor/watch.h"
#include "monitor/texts.h"

namespace troika::monitor {
namespace {

using records::EventKind;
using records::Life;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> sentences(const View& view, base::Language language = base::Language::english) {
  std::vector<std::string> all;
  for (const Finding& finding : view.findings) all.push_back(said(language, finding));
  return all;
}

TEST(MonitorView, TellsHowFarARunHasComeAndWhenItEnds) {
  MadeRun run(2);
  run.write_state();
  run.write_steps(1, 100, [](auto& row) {
    if (row.step % 50 == 0) row.extra["valid_loss"] = 3.25;
  });
  const View view = run.view(25);
  EXPECT_EQ(view.condition, Condition::training);
  EXPECT_EQ(view.progress.step, 100);
  EXPECT_EQ(view.progress.steps, 1000);
  EXPECT_EQ(view.progress.tokens, 102400);
  EXPECT_DOUBLE_EQ(view.progress.loss, 2.6);
  EXPECT_EQ(view.progress.valid_step, 100);
  EXPECT_DOUBLE_EQ(view.progress.valid_loss, 3.25);
  EXPECT_DOUBLE_EQ(view.progress.tokens_per_second, 4096);
  EXPECT_DOUBLE_EQ(view.progress.eta_seconds, 900 * 0.25);
  EXPECT_THAT(view.findings, IsEmpty());
}

TEST(MonitorView, TimeBetweenStepsCountsForTheEndWhereSamplesTellOfIt) {
  MadeRun run(2);
  run.write_state();
  run.write_steps(1, 100);
  run.write_samples(25, [](records::Sample& s) { s.place.step = static_cast<std::int64_t>(2 * s.elapsed_seconds); });
  EXPECT_DOUBLE_EQ(run.view(25).progress.eta_seconds, 900 * 0.5);
}

TEST(MonitorView, SharesAndRatesAreOfTheLastSamples) {
  MadeRun run(2);
  run.write_state();
  run.write_samples(30);
  const View view = run.view(30);
  ASSERT_EQ(view.ranks.size(), 2u);
  const RankView& rank = view.ranks[1];
  EXPECT_EQ(rank.host, "pi0");
  EXPECT_EQ(rank.dp, 1);
  EXPECT_EQ(rank.standing, Standing::works);
  EXPECT_EQ(records::word_of(rank.place.at), "fwd 1.0");
  EXPECT_NEAR(rank.shares.forward, 0.4, 1e-6);
  EXPECT_NEAR(rank.shares.wait, 0.1, 1e-6);
  EXPECT_NEAR(rank.shares.other, 0, 1e-6);
  EXPECT_NEAR(rank.sent_per_second, 1024 * 1024, 1);
  EXPECT_NEAR(rank.received_per_second, 1024 * 1024, 1);
  ASSERT_EQ(view.links.size(), 2u);
  EXPECT_EQ(view.links[0].from, 0);
  EXPECT_EQ(view.links[0].to, 1);
  EXPECT_NEAR(view.links[0].waited_share, 0.1, 1e-6);
}

TEST(MonitorView, OneSampleGivesSharesButNoRates) {
  MadeRun run(1);
  run.write_state();
  run.write_samples(5);
  const View view = run.view(5);
  EXPECT_NEAR(view.ranks.at(0).shares.backward, 0.4, 1e-6);
  EXPECT_TRUE(std::isnan(view.ranks.at(0).sent_per_second));
}

TEST(MonitorView, ARankThatComputesSlowerThanItsLikeIsNamed) {
  MadeRun run(3, 2);  // stages of 3 replicas each; the second stage has twice the work
  run.write_state();
  run.write_samples(10, [](records::Sample& s) {
    s.pace_seconds = s.rank % 2 == 0 ? 0.2 : 0.4;
    if (s.rank == 2) s.pace_seconds = 0.3;
  });
  const View view = run.view(10);
  EXPECT_THAT(sentences(view),
              ElementsAre("rank 2 (host pi1) is slow: it computes 300 ms per step, ranks with the same work 200 ms"));
  EXPECT_TRUE(view.ranks[2].slow);
  EXPECT_NEAR(view.ranks[2].slowness, 1.5, 1e-9);
  EXPECT_THAT(sentences(view, base::Language::chinese), ElementsAre(HasSubstr("rank 2（主机 pi1）慢")));
}

TEST(MonitorView, TheOnlyRankOfItsStageIsNotComparedWithOthers) {
  MadeRun run(1, 3);
  run.write_state();
  run.write_samples(10, [](records::Sample& s) { s.pace_seconds = s.rank == 2 ? 1.0 : 0.1; });
  EXPECT_THAT(run.view(10).findings, IsEmpty());
}

TEST(MonitorView, WhatTheWatchSaysHoldsUntilItIsTakenBack) {
  MadeRun run(1, 3);
  run.write_state();
  run.write_samples(20);
  const std::string slow =
      "host pi1 computes 2.4 times slower than its like (rank 2: 0.4 s a step, by the work of the others 0.17 s)";
  run.write_event(12, EventKind::notice, slow);
  const View view = run.view(20);
  EXPECT_THAT(sentences(view), ElementsAre(slow));
  EXPECT_TRUE(view.ranks[2].slow);
  run.write_event(18, EventKind::notice, "host pi1 computes as fast as its like again");
  EXPECT_THAT(run.view(20).findings, IsEmpty());
}

TEST(MonitorView, ChainsOfWaitingEndWithTheRankThatWorks) {
  MadeRun run(1, 4);
  run.write_state();
  run.write_samples(
      10, [](records::Sample& s) { s.place.waits_for = s.rank == 3 ? records::waits_for_nobody : s.rank + 1; });
  const View view = run.view(10);
  EXPECT_THAT(view.ranks[0].chain, ElementsAre(1, 2, 3));
  EXPECT_EQ(view.ranks[0].holder(), 3);
  EXPECT_EQ(view.ranks[3].held, 3);
  EXPECT_EQ(view.ranks[3].standing, Standing::works);
}

TEST(MonitorView, WhoWaitsForOthersWaitsForTheOnlyOneThatWorks) {
  MadeRun run(3);
  run.write_state();
  run.write_samples(10, [](records::Sample& s) {
    s.place.waits_for = s.rank == 1 ? records::waits_for_nobody : records::waits_for_others;
  });
  EXPECT_THAT(run.view(10).ranks[0].chain, ElementsAre(1));
  MadeRun two_work(3);
  two_work.write_state();
  two_work.write_samples(10, [](records::Sample& s) {
    s.place.waits_for = s.rank > 0 ? records::waits_for_nobody : records::waits_for_others;
  });
  EXPECT_THAT(two_work.view(10).ranks[0].chain, IsEmpty());
}

// Each for the next one, for so many seconds.
View of_ranks_that_wait(const MadeRun& run, int ranks, const std::function<double(int rank)>& seconds) {
  run.write_state();
  run.write_samples(30, [&](records::Sample& s) {
    s.place.waits_for = (s.rank + 1) % ranks;
    s.place.seconds = seconds(s.rank);
  });
  return run.view(30);
}

TEST(MonitorView, RanksThatWaitForEachOtherAreACircle) {
  const View view = of_ranks_that_wait(MadeRun(1, 3), 3, [](int rank) { return 12 + rank; });
  EXPECT_TRUE(view.ranks[0].circle);
  EXPECT_EQ(view.ranks[0].holder(), -1);
  EXPECT_THAT(sentences(view),
              ElementsAre("ranks 1, 2, 0 have waited for each other for 12 s: messages do not get through, check the network between their hosts"));
}

TEST(MonitorView, OfACircleOnOneHostNoNetworkBetweenHostsIsBlamed) {
  EXPECT_THAT(sentences(of_ranks_that_wait(MadeRun(2), 2, [](int) { return 20; })),
              ElementsAre("ranks 1, 0 on host pi0 have waited for each other for 20 s: messages between them do not get through, check their logs"));
}

// The samples of both fell into an exchange, milliseconds long.
TEST(MonitorView, RanksThatHaveOnlyJustBegunToWaitForEachOtherAreNoCircle) {
  const View view = of_ranks_that_wait(MadeRun(2), 2, [](int rank) { return rank == 0 ? 0.002 : 60; });
  EXPECT_FALSE(view.ranks[0].circle);
  EXPECT_THAT(view.ranks[0].chain, IsEmpty());
  EXPECT_THAT(view.findings, IsEmpty());
}

TEST(MonitorView, ARankWithoutSamplesForThreeIntervalsIsSilent) {
  MadeRun run(3);
  run.write_state();
  run.write_samples_of(0, 30);
  run.write_samples_of(1, 10);
  run.write_samples_of(2, 30);
  EXPECT_THAT(run.view(25).findings, IsEmpty());
  const View view = run.view(30);
  EXPECT_EQ(view.ranks[1].standing, Standing::silent);
  EXPECT_DOUBLE_EQ(view.ranks[1].silent_seconds, 20);
  EXPECT_DOUBLE_EQ(view.silent_seconds, 0);
  EXPECT_THAT(sentences(view), ElementsAre("rank 1 (host pi0) has been silent for 20 s"));
}

TEST(MonitorView, ARunOfWhichNobodyIsHeardIsSilentAndHasNoEnd) {
  MadeRun run(2);
  run.write_state();
  run.write_steps(1, 10);
  run.write_samples(10);
  const View view = run.view(60);
  EXPECT_DOUBLE_EQ(view.silent_seconds, 50);
  EXPECT_TRUE(std::isnan(view.progress.eta_seconds));
  EXPECT_THAT(sentences(view), ElementsAre(HasSubstr("no rank has reported for 50 s")));
}

TEST(MonitorView, ClocksOfOtherHostsMakeNoRankSilent) {
  MadeRun run(2);
  run.write_state();
  run.write_samples(10, [](records::Sample& s) { s.time -= 300; });
  records::RunReader reader(run.path());
  reader.refresh();
  const View view =
      view_of({reader, StepHistory{}, {{0, MadeRun::began + 10}, {1, MadeRun::began + 10}}, MadeRun::began + 12});
  EXPECT_EQ(view.ranks[1].standing, Standing::works);
}

TEST(MonitorView, SamplesOfEarlierAttemptsAndLaunchesDoNotCount) {
  MadeRun run(2);
  run.write_samples(10);  // an earlier launch, whose attempt had the same number
  run.state.began = MadeRun::began + 100;
  run.write_state();
  const View view = run.view(101);
  EXPECT_EQ(view.ranks[0].standing, Standing::unheard);
  run.write_samples_of(0, 5, [](records::Sample& s) { s.time += 100; });
  const View later = run.view(106);
  EXPECT_EQ(later.ranks[0].standing, Standing::works);
  EXPECT_TRUE(std::isnan(later.ranks[0].sent_per_second));  // nothing before it to compare with
}

TEST(MonitorView, ConditionsFollowStateAndWhereRank0Is) {
  MadeRun run(1);
  run.write_state();
  run.write_samples(5, [](records::Sample& s) { s.place.at = records::doing_of("evaluating"); });
  EXPECT_EQ(run.view(5).condition, Condition::evaluating);
  run.write_samples(10, [](records::Sample& s) { s.place.at = records::doing_of("saving a checkpoint"); });
  EXPECT_EQ(run.view(10).condition, Condition::saving);
  for (const auto& [life, condition] : std::map<Life, Condition>{{Life::preparing, Condition::preparing},
                                                                 {Life::finished, Condition::finished},
                                                                 {Life::stopped, Condition::stopped}}) {
    run.state.life = life;
    run.write_state();
    EXPECT_EQ(run.view(10).condition, condition);
  }
}

TEST(MonitorView, AFailedRunTellsWhyAndWhetherItBeginsAgain) {
  MadeRun run(2);
  run.state.life = Life::failed;
  run.state.text = "rank 1 (host pi0, pid 101) was killed by signal 9 (SIGKILL)";
  run.write_state();
  run.write_samples(10);
  run.write_event(11, EventKind::failure, run.state.text);
  View view = run.view(100);
  EXPECT_EQ(view.condition, Condition::failed);
  EXPECT_FALSE(view.restart_follows);
  EXPECT_THAT(view.findings, IsEmpty());
  EXPECT_EQ(view.ranks[1].standing, Standing::ended);
  run.write_event(12, EventKind::restart, "attempt 1 begins in 1 s");
  EXPECT_TRUE(run.view(100).restart_follows);
}

TEST(MonitorView, HostsThatAreHotShortOrThrottledAreNamed) {
  MadeRun run(2);
  run.write_state();
  run.write_samples(30, [](records::Sample& s) {
    if (!s.vitals) return;
    s.vitals->throttles += s.elapsed_seconds;
    s.vitals->swap_in_pages += 10 * s.elapsed_seconds;
    s.vitals->temperature_celsius = 85;
    s.vitals->available_bytes = 100 << 20;
    s.vitals->disk_free_bytes = 10 << 20;
    s.vitals->link_errors["eth0"] += static_cast<std::int64_t>(s.elapsed_seconds);
    s.vitals->quota_throttled_seconds = s.elapsed_seconds / 2;
  });
  const View view = run.view(30);
  EXPECT_THAT(sentences(view),
              UnorderedElementsAre("host pi0 was throttled 25 times by heat in the last minute: check its cooling",
                                   "host pi0 is at 85 degrees Celsius",
                                   "host pi0 swaps: 10 pages/s are read back, which slows every step",
                                   "host pi0 has 100.0 MiB of its 8.00 GiB of memory left",
                                   "host pi0 has 10.0 MiB of disk left; saving needs about 256.0 MiB",
                                   "host pi0 had 25 link errors in the last minute: check cable and port",
                                   "host pi0 was stalled 50 % of the time because its CPU quota was exhausted"));
}

TEST(MonitorView, AFolderWithoutRecordsHasNoneAndMetricsAloneAreAnUnknownState) {
  MadeRun run;
  EXPECT_EQ(run.view(0).condition, Condition::no_record);
  run.write_steps(1, 3);
  const View view = run.view(0);
  EXPECT_EQ(view.condition, Condition::unknown);
  EXPECT_EQ(view.progress.step, 3);
}

TEST(MonitorView, DamagedFilesAreReadAsFarAsTheyGo) {
  MadeRun run(2);
  run.write_steps(1, 3);
  base::append_file(run.path() + "/metrics.jsonl", "{\"step\": 4, \"lo\nnonsense\n");
  run.write_steps(5, 5);
  base::append_file(run.path() + "/metrics.jsonl", "{\"step\": 6, \"loss\": 1.0");
  base::append_file(run.path() + "/state.json", "{\"state\": \"train");
  run.write_samples(10);
  base::append_file(records::samples_path(run.path(), 0),
                    "\x80\xff{]\n{\"rank\": \"x\"}\n[1,2]\nnull\n{\"rank\": 0, \"numb");
  base::append_file(records::events_path(run.path()), "{\"event\": \"flood\"}\n{{\n\n");
  run.write_event(9, EventKind::save, "step 3 is saved");
  const View view = run.view(10);
  EXPECT_EQ(view.condition, Condition::unknown);
  EXPECT_EQ(view.progress.step, 5);
  EXPECT_EQ(view.ranks.size(), 2u);
  EXPECT_EQ(view.ranks[0].place.step, 40);
  EXPECT_EQ(view.events.size(), 1u);
}

TEST(MonitorView, AResumeThatCutsTheMetricsIsReadFromTheStart) {
  MadeRun run(1);
  run.write_state();
  run.write_steps(1, 100);
  RunWatch watch(run.path());
  EXPECT_EQ(watch.look(MadeRun::began).progress.loss_curve.points.size(), 100u);
  base::remove_tree(run.path() + "/metrics.jsonl");
  run.write_steps(1, 60);
  const View view = watch.look(MadeRun::began);
  EXPECT_EQ(view.progress.step, 60);
  EXPECT_EQ(view.progress.loss_curve.points.size(), 60u);
  run.write_steps(61, 70);
  EXPECT_EQ(watch.look(MadeRun::began).progress.loss_curve.last_step, 70);
}

TEST(MonitorView, FollowingChainsOf4096RanksIsCheap) {
  std::vector<RankView> ranks;
  for (int rank = 0; rank < 4096; ++rank) {
    RankView view;
    view.rank = rank;
    view.standing = rank == 17 ? Standing::works : Standing::waits;
    view.place.waits_for = rank == 17 ? records::waits_for_nobody : 17;
    ranks.push_back(view);
  }
  follow_chains(&ranks, 10);
  EXPECT_EQ(ranks[17].held, 4095);
}

TEST(MonitorView, AsJsonIsOneObjectWithNumbersAndTexts) {
  MadeRun run(2);
  run.write_state();
  run.write_steps(1, 10, [](auto& row) {
    if (row.step == 10) row.loss = std::nan("");
  });
  run.write_samples_of(0, 30);
  run.write_samples_of(1, 5, [](records::Sample& s) { s.memory["other\xff"] = 1; });
  run.write_event(2, EventKind::start, "step 1 of 1000 is next");
  const auto json = nlohmann::json::parse(to_json(run.view(30), base::Language::chinese, 2));
  EXPECT_EQ(json["state"], "training");
  EXPECT_EQ(json["state_text"], "训练中");
  EXPECT_EQ(json["progress"]["step"], 10);
  EXPECT_TRUE(json["progress"]["loss"].is_null());
  EXPECT_EQ(json["ranks"].size(), 2u);
  EXPECT_EQ(json["ranks"][1]["standing"], "silent");
  EXPECT_EQ(json["findings"][0]["trouble"], "silent_rank");
  EXPECT_EQ(json["hosts"][0]["vitals"]["cores"], 4);
  EXPECT_EQ(json["events"][0]["event"], "start");
  EXPECT_EQ(to_json(run.view(30), base::Language::english, -1).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace troika::monitor
