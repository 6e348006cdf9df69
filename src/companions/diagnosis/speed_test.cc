// Runs that are slower than they could be, and their look-alikes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "diagnosis/made_run_test_support.h"

namespace troika::diagnosis {
namespace {

using metrics::StepMetrics;
using records::Sample;
using testing::Contains;
using testing::HasSubstr;

// A run of 300 steps that take 0.2 s each.
struct LongRun : MadeRun {
  explicit LongRun(int ranks = 2, int ranks_per_host = 1) : MadeRun(ranks, ranks_per_host) {
    start();
    train(300);
    finish();
  }
  Diagnosis why_with(const std::function<void(Sample&)>& change = {}) {
    sample(change);
    return why();
  }
};

TEST(Speed, AHealthyRunIsNone) {
  LongRun run;
  EXPECT_EQ(run.why_with().cause, "none");
}

TEST(Speed, WaitingForDataOverATenthIsDataBoundAndAShortRunSaysNothing) {
  const auto loads = [](Sample& s) { s.phases["load"] = 0.2 * s.elapsed_seconds; };
  LongRun run;
  run.settings.data.prefetch = 4;
  const Diagnosis found = run.why_with(loads);
  EXPECT_EQ(found.cause, "data_bound");
  EXPECT_THAT(flags_of(found), Contains("--data.prefetch 16"));
  MadeRun brief;
  brief.start();
  brief.train(15);
  brief.finish();
  brief.sample(loads);
  EXPECT_EQ(brief.why().cause, "none");
  LongRun little;
  EXPECT_EQ(little.why_with([](Sample& s) { s.phases["load"] = 0.05 * s.elapsed_seconds; }).cause, "none");
}

TEST(Speed, MicrobatchesOfATinyModelThatTakeNoTimeAreNotDataBound) {
  LongRun run;
  run.settings.batch.microbatches = 40;
  EXPECT_EQ(run.why_with([](Sample& s) { s.phases["load"] = 0.2 * s.elapsed_seconds; }).cause, "none");
}

TEST(Speed, MessagesThatAllRanksWaitForBindARunOfSeveralHosts) {
  const auto waits = [](Sample& s) { s.waits["reduce_grads"] = 0.6 * s.elapsed_seconds; };
  LongRun run;
  const Diagnosis found = run.why_with(waits);
  EXPECT_EQ(found.cause, "communication_bound");
  EXPECT_THAT(flags_of(found), Contains("--global-batch-size 128"));
  LongRun on_one_host(2, 2);
  EXPECT_EQ(on_one_host.why_with(waits).cause, "none");
  LongRun one_waits;
  EXPECT_EQ(one_waits
                .why_with([&](Sample& s) {
                  if (s.rank == 0) waits(s);
                })
                .cause,
            "none");
}

LongRun& as_pipeline(LongRun& run, std::int64_t microbatches) {
  run.settings.parallel.dp = 1;
  run.settings.parallel.pp = static_cast<std::int64_t>(run.state.ranks.size());
  run.settings.batch.microbatches = microbatches;
  run.settings.batch.global_batch_size = 4 * microbatches;
  for (auto& rank : run.state.ranks) rank.pp = rank.rank, rank.dp = 0;
  return run;
}

TEST(Speed, APipelineWithTooFewMicrobatchesStandsIdle) {
  const auto waits = [](Sample& s) { s.waits = {{"recv_act", 0.4 * s.elapsed_seconds}}; };
  LongRun run(3, 3);
  as_pipeline(run, 4);
  const Diagnosis found = run.why_with(waits);
  EXPECT_EQ(found.cause, "pipeline_bubble");
  EXPECT_THAT(flags_of(found), Contains("--global-batch-size 48"));
  LongRun well_fed(3, 3);
  as_pipeline(well_fed, 16);
  EXPECT_EQ(well_fed.why_with([](Sample& s) { s.waits = {{"recv_act", 0.15 * s.elapsed_seconds}}; }).cause, "none");
}

TEST(Speed, TheSameBatchInSmallerMicrobatchesIsAdvisedWhereItDivides) {
  LongRun run(2, 2);
  as_pipeline(run, 2);
  EXPECT_THAT(flags_of(run.why_with([](Sample& s) {
                s.waits = {{"recv_act", 0.4 * s.elapsed_seconds}};
              })),
              Contains("--micro-batch-size 1"));
}

void slow_rank(Sample& s) {
  if (s.rank == 1) return;
  s.phases["forward"] = 0.1 * s.elapsed_seconds;
  s.phases["backward"] = 0.3 * s.elapsed_seconds;
  s.waits["reduce_grads"] = 0.5 * s.elapsed_seconds;
}

const char slow_notice[] =
    "host pi1 computes 2.0 times slower than its like (rank 1: 0.16 s a step, others that do the same 0.08 s)";

TEST(Speed, ANoticeOfASlowHostThatTheSamplesConfirmIsAStraggler) {
  LongRun run(3);
  run.notice(40, 100, slow_notice);
  const Diagnosis found = run.why_with(slow_rank);
  EXPECT_EQ(found.cause, "straggler");
  EXPECT_THAT(flags_of(found), Contains("--shares 5,2,5"));
  LongRun unconfirmed(3);
  unconfirmed.notice(40, 100, slow_notice);
  EXPECT_EQ(unconfirmed.why_with().cause, "none");
  LongRun well_again(3);
  well_again.notice(40, 100, slow_notice);
  well_again.notice(50, 150, "host pi1 computes as fast as its like again");
  EXPECT_EQ(well_again.why_with(slow_rank).cause, "none");
}

TEST(Speed, StagesThatWereStatedUnevenlyAreAStraggler) {
  LongRun run(3, 3);
  as_pipeline(run, 16);
  run.settings.model.layers = 8;
  run.settings.parallel.stage_layers = {1, 6, 1};
  EXPECT_EQ(run.why_with(slow_rank).cause, "straggler");
  LongRun even(3, 3);
  as_pipeline(even, 16);
  EXPECT_EQ(even.why_with(slow_rank).cause, "none");
}

TEST(Speed, SwappingCountsWhenStepsTakeTwiceAsLong) {
  const auto swaps = [](Sample& s) {
    if (s.vitals) s.vitals->swap_in_pages = 100 + 1000 * s.elapsed_seconds;
  };
  LongRun run;
  for (StepMetrics& row : run.rows)
    if (row.step > 150) row.step_seconds = 0.9;
  EXPECT_EQ(run.why_with(swaps).cause, "host_swapping");
  LongRun as_fast;
  EXPECT_EQ(as_fast.why_with(swaps).cause, "none");
}

TEST(Speed, AClockThatFallsSlowsSteps) {
  const auto falls = [](Sample& s) {
    if (s.vitals) s.vitals->clock_hertz = s.number > 8 ? 1.0e9 : 2.4e9;
  };
  LongRun run;
  for (StepMetrics& row : run.rows)
    if (row.step > 200) row.step_seconds = 0.4;
  EXPECT_EQ(run.why_with(falls).cause, "processor_throttled");
  LongRun as_fast;
  EXPECT_EQ(as_fast.why_with(falls).cause, "none");
}

void write_threads(const MadeRun& run, int rank, const std::string& line) {
  base::make_directories(run.path() + "/logs");
  base::append_file(run.path() + "/logs/rank-0000" + std::to_string(rank) + ".log",
                    "2025-03-01 12:00:00.123 info rank 0: " + line + "\n");
}

TEST(Speed, MoreThreadsThanCoresAreNamedAndMoreRanksThanCoresAreTheUsersChoice) {
  LongRun run(2, 2);
  for (const int rank : {0, 1})
    write_threads(run, rank, fmt::format("threads: 8, on 1 of 2 cores (bound to {})", rank));
  const Diagnosis found = run.why_with();
  EXPECT_EQ(found.cause, "wrong_thread_count");
  EXPECT_THAT(flags_of(found), Contains("--train.threads 1"));
  LongRun shared(3, 3);
  for (const int rank : {0, 1, 2}) write_threads(shared, rank, "threads: 1, on 2 of 2 cores (not bound)");
  EXPECT_EQ(shared.why_with().cause, "none");
}

TEST(Speed, ThreadsAreThoseThatSamplesTellNotThoseOfAnOlderLog) {
  LongRun run(2, 2);
  for (const int rank : {0, 1}) write_threads(run, rank, "threads: 1, on 1 of 2 cores (bound to 0)");
  const Diagnosis found = run.why_with([](Sample& s) { s.threads = {8, 1, 2, {s.rank}}; });
  EXPECT_EQ(found.cause, "wrong_thread_count");
  EXPECT_THAT(evidence_of(found), HasSubstr("16 threads of 2 ranks run on 2 of 2 cores"));
}

TEST(Speed, ManyThreadsOfRanksThatShareTooFewCoresBecomeRanksOfOneThreadFirst) {
  LongRun run(2, 2);
  for (const int rank : {0, 1}) write_threads(run, rank, "threads: 2, on 1 of 2 cores (bound to 0)");
  const Diagnosis found = run.why_with();
  EXPECT_THAT(evidence_of(found), HasSubstr("4 threads of 2 ranks run on 1 of 2 cores"));
  EXPECT_EQ(found.cause, "wrong_thread_count");
  ASSERT_EQ(found.advice.size(), 3U);
  EXPECT_EQ(found.advice[0].flag.english, "--nproc-per-node 1 --train.threads 1");
  EXPECT_EQ(found.advice[1].flag.english, "--train.threads 1");
}

TEST(Speed, OneCoreOfManyForEachRankIsTooFew) {
  for (const int apart : {0, 1}) {
    LongRun run(2, 2);
    for (const int rank : {0, 1})
      write_threads(run, rank, fmt::format("threads: 1, on 1 of 64 cores (bound to {})", 5 + apart * rank));
    EXPECT_EQ(run.why_with().cause, "wrong_thread_count") << apart;
  }
}

TEST(Speed, AQuotaThatIsUsedUpIsAThreadCount) {
  LongRun run;
  EXPECT_EQ(run.why_with([](Sample& s) {
                 if (s.vitals) s.vitals->quota_throttled_seconds = 0.8 * s.elapsed_seconds;
               })
                .cause,
            "wrong_thread_count");
}

TEST(Speed, AgainstAQuotaThereAreFewerThreadsAndThenFewerRanksAndThenMoreOfIt) {
  const auto flags = [](int ranks, const std::string& threads, double cores) {
    LongRun run(ranks, ranks);
    for (int rank = 0; rank < ranks; ++rank) write_threads(run, rank, threads);
    const Diagnosis found = run.why_with([&](Sample& s) {
      if (!s.vitals) return;
      s.vitals->cores = cores;
      s.vitals->quota_throttled_seconds = 0.8 * s.elapsed_seconds;
    });
    EXPECT_EQ(found.cause, "wrong_thread_count");
    std::vector<std::string> all;
    for (const Advice& advice : found.advice) all.push_back(advice.flag.english);
    return all;
  };
  using Flags = std::vector<std::string>;
  EXPECT_EQ(flags(1, "threads: 4, on 4 of 4 cores (not bound)", 3),
            (Flags{"--train.threads 3", "docker run --cpus N"}));
  EXPECT_EQ(flags(2, "threads: 2, on 4 of 4 cores (not bound)", 4),
            (Flags{"--train.threads 1", "docker run --cpus N"}));
  EXPECT_EQ(flags(4, "threads: 1, on 4 of 4 cores (not bound)", 2),
            (Flags{"--nproc-per-node 2 --train.threads 1", "docker run --cpus N"}));
}

TEST(Speed, SavesThatTakeAFifthOfTheTimeAreASlowDisk) {
  LongRun run;
  for (int i = 0; i < 4; ++i) run.say(EventKind::save, 10 + 10 * i).numbers["seconds"] = 4;
  EXPECT_EQ(run.why_with([](Sample& s) { s.phases["save"] = 0.3 * s.elapsed_seconds; }).cause, "slow_disk");
  LongRun once;
  once.say(EventKind::save, 60).numbers["seconds"] = 12;
  EXPECT_EQ(once.why_with([](Sample& s) { s.phases["save"] = 0.3 * s.elapsed_seconds; }).cause, "none");
}

}  // namespace
}  // namespace troika::diagnosis
