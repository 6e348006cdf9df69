// Causes of death of runs: by status and counters of the first to die, by reports, by silence.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "diagnosis/made_run_test_support.h"

namespace troika::diagnosis {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSubsetOf;
using testing::Not;

std::string cause_of_signal(int signal, double memory_kills = 0) {
  MadeRun run;
  run.start();
  run.train(30);
  run.killed(1, signal).numbers["memory_kills"] = memory_kills;
  return run.why().cause;
}

std::string cause_of_message(int code, const std::string& text, int ranks = 2) {
  MadeRun run(ranks);
  run.start();
  run.train(30);
  run.failed(1, code, text);
  return run.why().cause;
}

std::string cause_of_report(int code, const std::string& text) {
  MadeRun run;
  run.start();
  run.train(30);
  run.report(code, text);
  return run.why().cause;
}

TEST(Failures, AKillWithTheOutOfMemoryCounterIsMemoryAndOneWithoutIsNot) {
  EXPECT_EQ(cause_of_signal(9, 1), "host_out_of_memory");
  EXPECT_EQ(cause_of_signal(9, 0), "killed_from_outside");
}

TEST(Failures, WhatTheLauncherCountedAtTheEndIsBelievedBeforeSamplesOfTheHost) {
  MadeRun run;
  run.start();
  run.train(100);
  run.sample([](records::Sample& s) {
    if (s.vitals && s.number > 3) s.vitals->memory_kills = 4;
  });
  run.killed(1, 9).numbers["memory_kills"] = 0;
  EXPECT_EQ(run.why().cause, "killed_from_outside");
}

TEST(Failures, OfARunWithoutALauncherOnlyKillsShortlyBeforeItsEndCount) {
  const auto cause = [](int from_sample) {
    MadeRun run;
    run.start();
    run.train(300);  // 60 s, 13 samples
    run.sample([&](records::Sample& s) {
      if (s.vitals && s.number >= from_sample) s.vitals->memory_kills = 4;
    });
    run.write();
    return judge(gather(run.path(), run.last_word() + 600)).cause;
  };
  EXPECT_EQ(cause(3), "killed_from_outside");
  EXPECT_EQ(cause(11), "host_out_of_memory");
}

TEST(Failures, TheSampleOfAHostWithoutMemoryTellsToo) {
  MadeRun run;
  run.start();
  run.train(100);
  run.sample([](records::Sample& s) {
    if (s.vitals && s.rank == 1 && s.number > 2) s.vitals->available_bytes = 1e8;
  });
  run.killed(1, 9);
  EXPECT_EQ(run.why().cause, "host_out_of_memory");
}

TEST(Failures, AdviceAboutMemoryComesFromTheRunsOwnSettings) {
  MadeRun run;
  run.settings.batch.micro_batch_size = 6;
  run.settings.parallel.recompute = config::Recompute::full;
  run.settings.parallel.zero = 1;
  run.start();
  run.killed(0, 9).numbers["memory_kills"] = 1;
  EXPECT_EQ(flags_of(run.why()), (std::set<std::string>{"--micro-batch-size 3", "--zero 2", "--offload file"}));
}

TEST(Failures, ARefusedAllocationIsMemory) {
  EXPECT_EQ(cause_of_message(70, "std::bad_alloc"), "host_out_of_memory");
  EXPECT_EQ(cause_of_message(70, "CUDA out of memory. Tried to allocate 2 GiB"), "device_out_of_memory");
}

TEST(Failures, MemoryThatEndsWhileACheckpointIsWrittenIsNamedSo) {
  MadeRun run;
  run.start();
  run.train(30);
  run.killed(1, 9).numbers["memory_kills"] = 1;
  base::make_directories(run.path() + "/checkpoints/step-00000020.partial/model");
  const Diagnosis found = run.why();
  EXPECT_EQ(found.cause, "out_of_memory_while_saving");
  EXPECT_THAT(flags_of(found), Contains("--checkpoint.async off"));
}

TEST(Failures, ARefusalThatNamesFlagsIsTakenAtItsWord) {
  MadeRun run;
  run.report(
      2,
      "this rank needs 9 GiB, but its share of this host's free memory is 2 GiB (1 rank here); the nearest layout "
      "that fits is --zero 3 --recompute full (1 GiB a rank)");
  const Diagnosis found = run.why();
  EXPECT_EQ(found.cause, "plan_exceeds_memory");
  EXPECT_EQ(flags_of(found), (std::set<std::string>{"--zero 3", "--recompute full"}));
}

TEST(Failures, TheLengthThatCutsAnswersOffIsDoubled) {
  MadeRun run;
  run.report(3, "every answer of 'a.jsonl' begins after 64 ids: set a larger --seq-len");
  const Diagnosis found = run.why();
  EXPECT_EQ(found.cause, "no_training_tokens");
  EXPECT_THAT(flags_of(found), Contains("--seq-len 128"));
}

TEST(Failures, ARankThatDiedBetweenSamplesWasSeenAtTheLastStepWrittenDown) {
  const auto evidence = [](bool old_samples) {
    MadeRun run;
    run.start();
    run.train(20);
    if (old_samples) run.sample([](records::Sample& s) { s.place.step = std::min<std::int64_t>(s.place.step, 1); });
    run.killed(1, 9);
    return evidence_of(run.why());
  };
  EXPECT_THAT(evidence(false), HasSubstr("rank 1 on pi1 was last seen at step 20\n"));
  EXPECT_THAT(evidence(true), HasSubstr("rank 1 on pi1 was last seen at step 20\n"));
}

TEST(Failures, OldLinesOfALogDoNotSpeakBeforeTheReport) {
  MadeRun run;
  run.start();
  records::Event& ended = run.say(EventKind::rank_ended, 60, "rank 1 ended with exit code 2");
  ended.rank = 1;
  ended.numbers["exit_code"] = 2;
  ended.words["last_lines"] = "step 10 could not be saved: No space left on device; the run continues";
  run.report(2, "after step 31 the loss (nan) or the gradient norm (nan) is not a finite number; lower --lr", 60.1);
  EXPECT_EQ(run.why().cause, "diverged");
}

TEST(Failures, SlurmSaysWhoseLimitItWas) {
  MadeRun run;
  run.start();
  run.killed(1, 9).words["last_lines"] = "step 12\nslurmstepd: error: Detected 1 oom_kill event in StepId=7.0";
  const Diagnosis found = run.why();
  EXPECT_EQ(found.cause, "job_memory_limit");
  EXPECT_THAT(flags_of(found), Contains("#SBATCH --mem=0"));
}

TEST(Failures, SignalsHaveTheirCauses) {
  EXPECT_EQ(cause_of_signal(1), "terminal_closed");
  EXPECT_EQ(cause_of_signal(4), "wrong_processor");
  EXPECT_EQ(cause_of_signal(6), "crashed");
  EXPECT_EQ(cause_of_signal(7), "bus_error");
  EXPECT_EQ(cause_of_signal(11), "crashed");
  EXPECT_EQ(cause_of_signal(15), "killed_from_outside");
}

TEST(Failures, TheFirstToDieIsTheHeadlineAndNotThoseWhoLostTheirPeer) {
  MadeRun run(3);
  run.start();
  run.train(30);
  for (const int rank : {0, 2}) {
    records::Event& lost =
        run.say(EventKind::rank_failed, 59, "recv of 4.00 KiB from rank 1 failed: Connection closed by peer");
    lost.rank = rank;
    lost.numbers["exit_code"] = 75;
  }
  run.killed(1, 4);
  records::Event& ended_with_it = run.say(EventKind::rank_ended, 64, "rank 2 was killed by signal 9");
  ended_with_it.rank = 2;
  ended_with_it.numbers["signal"] = 9;
  const Diagnosis found = run.why();
  EXPECT_EQ(found.cause, "wrong_processor");
  EXPECT_THAT(evidence_of(found), HasSubstr("rank 1 on pi1"));
}

TEST(Failures, ARankThatSaidWhyAndWasEndedWithTheOthersDiedOfWhatItSaid) {
  MadeRun run;
  run.start();
  run.failed(1, 3, "cannot write 'x': No space left on device");
  records::Event& ended = run.say(EventKind::rank_ended, 65, "rank 1 was killed by signal 9");
  ended.rank = 1;
  ended.host = run.host_of(1);
  ended.numbers["signal"] = 9;
  EXPECT_EQ(run.why().cause, "disk_full");
}

TEST(Failures, ADeathThatTheReportDidNotNameIsFirstAllTheSame) {
  MadeRun run;
  run.start();
  records::Event& ended = run.say(EventKind::rank_ended, 60, "rank 1 was killed by signal 4");
  ended.rank = 1;
  ended.numbers["signal"] = 4;
  run.failed(0, 75, "recv of 4.00 KiB from rank 1 failed: Connection closed by peer", 60.2);
  EXPECT_EQ(run.why().cause, "wrong_processor");
}

TEST(Failures, OnlyTheLastAttemptCounts) {
  MadeRun run;
  run.start();
  run.train(30);
  run.killed(1, 9).numbers["memory_kills"] = 1;
  run.say(EventKind::launch, 70, "another attempt");
  run.start().time = MadeRun::began + 75;
  run.train(30);
  run.say(EventKind::finish, 90);
  EXPECT_EQ(run.why().cause, "none");
}

TEST(Failures, RecordsThatEndWithoutAWordAreAKillOfAll) {
  MadeRun run;
  run.start();
  run.train(100);
  run.sample();
  run.write();
  EXPECT_EQ(judge(gather(run.path(), run.last_word() + 10)).cause, "none");
  EXPECT_EQ(judge(gather(run.path(), run.last_word() + 600)).cause, "killed_from_outside");
}

TEST(Failures, AHangUpOfTheLauncherIsTheTerminalAndAnInterruptIsNobodysFault) {
  MadeRun run;
  run.start();
  run.train(30);
  run.say(EventKind::stop_requested, 50, "the launcher got signal 1 (SIGHUP)");
  run.say(EventKind::stop, 51);
  EXPECT_EQ(run.why().cause, "terminal_closed");
  MadeRun other;
  other.start();
  other.train(30);
  other.say(EventKind::stop_requested, 50, "the launcher got signal 2 (SIGINT)");
  other.say(EventKind::stop, 51);
  EXPECT_EQ(other.why().cause, "none");
}

TEST(Failures, OfAFolderThatHasOnlyTheLaunchersReport) {
  const auto cause = [](int code, const std::string& text) {
    base::TemporaryFolder folder;
    records::Event event;
    event.time = 1000;
    event.kind = EventKind::failure;
    event.text = text;
    event.numbers["exit_code"] = code;
    base::append_file(folder.path() + "/events.jsonl", records::to_json(event) + "\n");
    return judge(gather(folder.path(), 1001)).cause;
  };
  EXPECT_EQ(cause(2, "port 29500 is held by 'python3' (pid 7): end it or choose another --master-port"), "port_in_use");
  EXPECT_EQ(cause(75, "host 1 did not come within 5 s: start troika launch there with its --node-rank"),
            "ranks_missing");
  EXPECT_EQ(cause(75, "host 0 did not answer at pi0:29500 within 5 s (Name or service not known): start troika launch"),
            "name_unknown");
  EXPECT_EQ(cause(75, "host 0 did not answer at 10.0.0.1:29500 within 5 s (No route to host): start troika launch"),
            "firewall");
  EXPECT_EQ(cause(75, "host 0 did not answer at 127.0.1.1:29500 within 5 s (Connection refused): start troika launch"),
            "wrong_address");
  EXPECT_EQ(cause(75, "host 0 did not answer at 10.0.0.1:29500 within 5 s (Connection refused): start troika launch"),
            "ranks_missing");
  EXPECT_EQ(
      cause(2, "this rank needs 9 GiB, but its share of this host's free memory is 2 GiB (1 rank here); --zero 3"),
      "plan_exceeds_memory");
  EXPECT_EQ(cause(2, "another launcher has --node-rank 1 already (host pi1): give each host its own"),
            "duplicate_rank");
  EXPECT_EQ(cause(75,
                  "another launcher has --node-rank 1 too (host pi2, pid 3, beside host pi1, pid 4): give each host "
                  "its own; host 2 did not come within 8 s: start troika launch there with its --node-rank"),
            "duplicate_rank");
  EXPECT_EQ(cause(75,
                  "rank 0 (host pi0, pid 2) failed: two processes say that they are rank 1: one (host pi1, pid 3) and "
                  "pid 4 on host pi2; give each host its own --node-rank; rank 2 (node 2) did not come within 10 s"),
            "duplicate_rank");
  EXPECT_EQ(cause(2, "host 0 was started with --nnodes 2 but host 1 with --nnodes 3: use the same flags on every host"),
            "ranks_differ");
}

TEST(Failures, OfTwoProcessesWithOneNumberTheOneThatWasRefusedSaysWhy) {
  MadeRun run(3, 3);
  const auto fails = [&](double at, int rank, int code, const std::string& text) {
    records::Event& event = run.say(EventKind::rank_failed, at, text);
    event.rank = rank;
    event.numbers["exit_code"] = code;
  };
  fails(1, 1, 2, "two processes say that they are rank 1: this one (host pi0, pid 3) and pid 4 on host pi0");
  fails(11, 0, 75, "rank 2 (node 0) did not come within 10 s: start it with the same --master-addr and --master-port");
  fails(12, 1, 75, "rank 0 (host pi0, pid 2) failed: rank 2 (node 0) did not come within 10 s: start it with the same");
  EXPECT_EQ(run.why().cause, "duplicate_rank");
}

Diagnosis of_report(const std::string& text) {
  MadeRun run;
  run.report(75, text);
  return run.why();
}

TEST(Failures, WhereNothingAnswersThePortIsToBeOpenedAndNoTimeIsAdvised) {
  const std::string silent = "host 0 did not answer at 10.0.0.1:29511 within 120 s ({}): start troika launch there";
  const auto with = [&](const std::string& cause) { return of_report(fmt::format(fmt::runtime(silent), cause)); };
  const Diagnosis dropped = with("Connection timed out");
  EXPECT_EQ(dropped.cause, "ranks_missing");
  EXPECT_EQ(dropped.advice.at(0).flag.english, "open TCP ports 29511 and 32768-60999 between the hosts");
  EXPECT_THAT(dropped.advice.at(1).flag.english, HasSubstr("--master-addr"));
  EXPECT_THAT(flags_of(dropped), Not(Contains(HasSubstr("--join-timeout"))));
  EXPECT_EQ(with("No route to host: a firewall forbids it").cause, "firewall");
  EXPECT_EQ(with("Connection refused: a firewall forbids it").cause, "firewall");
  EXPECT_EQ(with("No route to host: nothing answers at that address").cause, "ranks_missing");
  EXPECT_EQ(with("Connection refused").cause, "ranks_missing");
  EXPECT_THAT(flags_of(with("Connection refused")), Contains("--join-timeout 240"));
}

TEST(Failures, HostZeroIsToldOfItsPortAndToWaitLongerLast) {
  const Diagnosis found = of_report(
      "host 1 did not come within 8 s: start troika launch there with its --node-rank and the same --master-addr and "
      "--master-port, and see that port 29511 of this host is open");
  EXPECT_EQ(found.cause, "ranks_missing");
  EXPECT_EQ(found.advice.at(1).flag.english, "open TCP ports 29511 and 32768-60999 between the hosts");
  EXPECT_EQ(found.advice.at(2).flag.english, "--join-timeout 240");
}

TEST(Failures, AFreePortIsAdvised) {
  MadeRun run;
  run.report(2, "port 29500 is held by 'python3' (pid 7): end it or choose another --master-port");
  EXPECT_THAT(flags_of(run.why()), Contains("--master-port 29600"));
}

TEST(Failures, MeetingsFailInTheirWays) {
  EXPECT_EQ(
      cause_of_message(2, "two processes say that they are rank 1: this one (host pi1, pid 3) and pid 4 on host pi2"),
      "duplicate_rank");
  EXPECT_EQ(cause_of_message(2, "the ranks were started differently: optimizer.lr = 0.1 on rank 1 but 0.2 on rank 0"),
            "ranks_differ");
  EXPECT_EQ(cause_of_message(2, "rank 0 is known as 127.0.1.1, which rank 1 at 10.0.0.2 cannot reach: give every host"),
            "wrong_address");
  EXPECT_EQ(cause_of_message(
                75, "rank 1 could not connect group 'world' of 2 ranks from 10.0.0.2: connect: No route to host"),
            "firewall");
  EXPECT_EQ(cause_of_message(75, "rank 1 could not connect group 'world' of 2 ranks from 10.0.0.2: timed out"),
            "firewall");
  EXPECT_EQ(
      cause_of_message(75,
                       "rank 1 could not connect group 'world' of 2 ranks from 10.0.0.2: connect [127.0.0.1]:25519: "
                       "Connection refused; if hosts have several networks, set comm.interface"),
      "wrong_address");
  EXPECT_EQ(cause_of_message(2, "the store at 10.0.0.1:29500 does not take this process: its secret is another one"),
            "wrong_secret");
}

TEST(Failures, FilesFailInTheirWays) {
  EXPECT_EQ(cause_of_message(3, "cannot write 'run/checkpoints/step-00000010/x.tmp.7': No space left on device"),
            "disk_full");
  EXPECT_EQ(cause_of_message(3, "cannot open 'a.txt': Too many open files"), "too_many_open_files");
  EXPECT_EQ(cause_of_message(3, "cannot write '/nfs/run/x': Stale file handle"), "file_system_failed");
  EXPECT_EQ(cause_of_message(3, "cannot write 'run/checkpoints/x': No such file or directory"), "file_system_failed");
  EXPECT_EQ(cause_of_message(3, "'data/a.shard' cannot be read at byte 4096: it was cut to 4096 bytes"), "bus_error");
  EXPECT_EQ(cause_of_message(3, "none of the 40 records of 'a.jsonl' has an answer to train on"), "no_training_tokens");
  EXPECT_EQ(cause_of_message(3, "cannot open 'a.txt': No such file or directory"), "data_refused");
}

TEST(Failures, InfinibandIsToldByTheLogAlone) {
  MadeRun run;
  run.start();
  records::Event& ended = run.say(EventKind::rank_ended, 60, "rank 1 ended with exit code 70");
  ended.rank = 1;
  ended.numbers["exit_code"] = 70;
  ended.words["last_lines"] = "ibv_reg_mr failed with error Cannot allocate memory";
  run.report(70, "rank 1 (host pi1, pid 3) ended with exit code 70", 60.1);
  EXPECT_EQ(run.why().cause, "infiniband");
}

TEST(Failures, ASaveThatWasGivenUpIsToldOfARunThatRunsOnUntilOneSucceeds) {
  MadeRun run;
  run.start();
  run.train(30);
  run.say(EventKind::save_failed, 50,
          "step 10 could not be saved: cannot write 'x': No space left on device; the run continues and tries again");
  EXPECT_EQ(run.why().cause, "disk_full");
  run.say(EventKind::save, 55, "step 20 is saved");
  base::remove_tree(run.path() + "/events.jsonl");
  EXPECT_EQ(run.why().cause, "none");
}

TEST(Failures, NumbersThatAreNone) {
  EXPECT_EQ(
      cause_of_message(2, "after step 31 the loss (nan) or the gradient norm (nan) is not a finite number; lower --lr"),
      "diverged");
  EXPECT_EQ(cause_of_message(2, "fp16 overflows even with the smallest loss scale (1): the loss diverges"),
            "fp16_overflow");
  EXPECT_EQ(
      cause_of_message(75, "x differs, found in step 3; nothing of it was saved: test this host's memory (memtester)"),
      "changed_bits");
}

TEST(Failures, SilenceAndStalls) {
  EXPECT_EQ(cause_of_report(75,
                            "rank 1 (host pi1, pid 7) has been silent for 10 s; its last heartbeat came from step 30, "
                            "fwd: see whether the process is stopped, its host overloaded or off the network"),
            "host_lost");
  EXPECT_EQ(cause_of_report(75,
                            "rank 1 (host pi1, pid 7) has been silent for 10 s; its last heartbeat came from step 30, "
                            "fwd: a signal has stopped the process"),
            "rank_hangs");
  EXPECT_EQ(
      cause_of_report(75, "the launcher of host 1 (host pi1, pid 3) was killed or its host has ended, and its ranks"),
      "host_lost");
  EXPECT_EQ(cause_of_report(75,
                            "rank 1 (host pi1, pid 7) is behind: step 31, fwd 1.0 for 60 s; 1 rank waits for it; "
                            "comm.timeout_seconds (60) is the limit"),
            "rank_hangs");
  EXPECT_EQ(cause_of_report(75,
                            "rank 1 (host pi1, pid 7) is behind: step 31, finishing the last checkpoint for 60 s; "
                            "1 rank waits for it; comm.timeout_seconds (60) is the limit"),
            "slow_disk");
  EXPECT_EQ(cause_of_report(75, "recv of 4.00 KiB from rank 1 failed: Connection closed by peer"), "peer_lost");
}

TEST(Failures, WhatBreaksBeforeTheFirstStepBetweenHostsIsTheirMtu) {
  MadeRun run;
  run.failed(1, 75, "get of 'agree/settings/facts' failed: the store at 10.0.0.1:29500 is gone");
  EXPECT_EQ(run.why().cause, "mtu_black_hole");
  MadeRun one_host(2, 2);
  one_host.failed(1, 75, "get of 'agree/settings/facts' failed: the store at 127.0.0.1:29500 is gone");
  EXPECT_EQ(one_host.why().cause, "peer_lost");
  MadeRun later;
  later.start();
  later.train(10);
  later.failed(1, 75, "get of 'x' failed: the store at 10.0.0.1:29500 is gone");
  EXPECT_EQ(later.why().cause, "peer_lost");
}

TEST(Failures, ANoticeThatStandsWhenTheRunIsStoppedIsWhy) {
  const std::string circle =
      "rank 0 (host pi0, pid 7) is behind: measuring the link for 31 s; it waits for rank 1 (host pi1, pid 7) and that "
      "one "
      "for it: no message passes, see the network between their hosts";
  MadeRun before;
  before.notice(40, 0, circle);
  before.say(EventKind::stop_requested, 90, "the launcher got signal 15 (SIGTERM)");
  EXPECT_EQ(before.why().cause, "mtu_black_hole");
  MadeRun after;
  after.start();
  after.train(20);
  after.notice(40, 20, circle);
  after.say(EventKind::stop_requested, 90, "the launcher got signal 15 (SIGTERM)");
  EXPECT_EQ(after.why().cause, "link_lost");
  MadeRun connecting;
  connecting.notice(40, 0, "rank 0 (host pi0, pid 7) is behind: connecting for 31 s; 1 more rank is behind");
  connecting.say(EventKind::stop_requested, 90, "the launcher got signal 15 (SIGTERM)");
  EXPECT_EQ(connecting.why().cause, "mtu_black_hole");
  MadeRun on_one_host(2, 2);
  on_one_host.notice(40, 0, "rank 0 (host pi0, pid 7) is behind: connecting for 31 s; 1 more rank is behind");
  on_one_host.say(EventKind::stop_requested, 90, "the launcher got signal 15 (SIGTERM)");
  EXPECT_EQ(on_one_host.why().cause, "rank_hangs");
  MadeRun preparing;
  preparing.notice(40, 0, "rank 0 (host pi0, pid 7) is behind: preparing the data for 31 s; 1 rank waits for it");
  preparing.say(EventKind::stop_requested, 90, "the launcher got signal 15 (SIGTERM)");
  EXPECT_EQ(preparing.why().cause, "data_preparation");
}

TEST(Failures, ANoticeThatIsOverIsNone) {
  MadeRun run;
  run.start();
  run.train(20);
  run.notice(20, 10, "rank 1 (host pi1, pid 7) is behind: step 11, fwd 1.0 for 6 s; 1 rank waits for it");
  run.notice(27, 10, "rank 1 (host pi1, pid 7) continues after 13 s");
  run.say(EventKind::stop, 90);
  EXPECT_EQ(run.why().cause, "none");
  MadeRun went_on;
  went_on.start();
  went_on.train(20);
  went_on.notice(20, 10, "rank 1 (host pi1, pid 7) is behind: step 11, fwd 1.0 for 6 s; 1 rank waits for it");
  went_on.say(EventKind::stop, 90);
  EXPECT_EQ(went_on.why().cause, "none");
}

// Before the first step: rank 0 is at `instruction`, rank 1 waits for all to agree. `seconds`: both.
std::string cause_before_a_step(const std::string& instruction, int waits_for, double seconds, double lag = 0) {
  MadeRun run;
  run.say(EventKind::launch, 1, "2 ranks");
  for (int rank = 0; rank < 2; ++rank) {
    records::Sample s;
    s.time = MadeRun::began + 40;
    s.rank = rank;
    s.host = run.host_of(rank);
    s.number = 1;
    s.place.step = 0;
    s.place.at = rank == 0 ? records::doing_of(instruction) : records::Doing(records::Activity::agreeing);
    s.place.waits_for = rank == 0 ? waits_for : records::waits_for_others;
    s.place.seconds = seconds;
    s.elapsed_seconds = 40 - (rank == 0 ? lag : 0);
    run.samples.push_back(s);
  }
  return run.why().cause;
}

TEST(Failures, BeforeTheFirstStepSamplesTellWhoHoldsTheOthersUp) {
  const int nobody = records::waits_for_nobody, others = records::waits_for_others;
  EXPECT_EQ(cause_before_a_step("preparing the data", nobody, 25), "data_preparation");
  EXPECT_EQ(cause_before_a_step("preparing the data", nobody, 14), "none");
  EXPECT_EQ(cause_before_a_step("preparing the data", nobody, 25, 30), "none");  // it was long ago
  EXPECT_EQ(cause_before_a_step("agreeing on settings", others, 13), "mtu_black_hole");
  EXPECT_EQ(cause_before_a_step("agreeing on settings", others, 8), "none");
  EXPECT_EQ(cause_before_a_step("agreeing on settings", nobody, 25), "none");  // it works
  EXPECT_EQ(cause_before_a_step("loading weights", nobody, 60), "none");
}

TEST(Failures, ARunThatRunsOnHangsOnlyAfterAWhile) {
  const std::string stopped =
      "rank 1 (host pi1, pid 7) is stopped by signal 19 (SIGSTOP); kill -CONT 7 on its host lets it continue";
  MadeRun run;
  run.start();
  run.train(20);
  run.notice(20, 20, stopped);
  run.say(EventKind::evaluation, 25);
  EXPECT_EQ(run.why().cause, "none");
  MadeRun long_stopped;
  long_stopped.start();
  long_stopped.train(20);
  long_stopped.notice(20, 20, stopped);
  long_stopped.say(EventKind::evaluation, 65);
  const Diagnosis found = long_stopped.why();
  EXPECT_EQ(found.cause, "rank_hangs");
  EXPECT_THAT(flags_of(found), Contains("kill -CONT 7"));
}

TEST(Failures, OfARunThatHasEndedNoProcessIsToBeContinued) {
  const std::string stopped =
      "rank 1 (host pi1, pid 7) has been silent for 10 s; its last heartbeat came from step 1, fwd 1.0: a signal has "
      "stopped the process (comm.heartbeat_seconds sets the limit)";
  MadeRun run;
  run.start();
  run.train(12);
  run.report(75, stopped);
  const Diagnosis found = run.why();
  EXPECT_EQ(found.cause, "rank_hangs");
  EXPECT_THAT(flags_of(found), ElementsAre("find out who stopped the process", "rerun the same command"));
  EXPECT_THAT(evidence_of(found), HasSubstr("all ranks had completed step 12: the heartbeat is older"));
}

std::string reasons_of(const Diagnosis& diagnosis) {
  std::string all;
  for (const Advice& advice : diagnosis.advice) all += advice.reason.english + "\n";
  return all;
}

TEST(Failures, WithoutACheckpointTheSameCommandBeginsAnew) {
  MadeRun run;
  run.start();
  run.killed(1, SIGTERM);
  EXPECT_THAT(reasons_of(run.why()), AllOf(HasSubstr("starts over"), Not(HasSubstr("newest complete checkpoint"))));
  MadeRun saved;
  saved.start();
  saved.killed(1, SIGTERM);
  base::make_directories(saved.path() + "/checkpoints/step-00000010");
  base::write_file_atomic(saved.path() + "/checkpoints/step-00000010/manifest.json", "{}");
  EXPECT_THAT(reasons_of(saved.why()), HasSubstr("newest complete checkpoint"));
}

TEST(Failures, OnlyAJobOfSlurmIsToldOfSbatch) {
  const auto flags = [](const std::string& job) {
    MadeRun run;
    run.state.slurm_job = job;
    run.start();
    run.write();
    return flags_of(judge(gather(run.path(), run.last_word() + 3600)));
  };
  const std::string sbatch = "#SBATCH --signal=TERM@300 --requeue";
  EXPECT_THAT(flags("1234.0"), AllOf(Contains(sbatch), Not(Contains("srun troika launch"))));
  EXPECT_THAT(flags("1234"), AllOf(Contains(sbatch), Contains("srun troika launch"))) << "in its script";
  EXPECT_THAT(flags(""), Not(Contains(sbatch)));
}

TEST(Failures, OfAnEarlierAttemptAreOverOnAHostThatHasNoBeginnings) {
  MadeRun run;
  run.events.clear();
  records::Event& failed = run.say(EventKind::rank_failed, -20, "another run writes to the folder");
  failed.rank = 1;
  failed.numbers["exit_code"] = 2;
  run.state.life = records::Life::finished;
  run.state.since = MadeRun::began + 30;
  run.write();
  EXPECT_EQ(judge(gather(run.path(), run.last_word() + 3600)).cause, "none");
  run.state.began = MadeRun::began - 30;
  run.state.life = records::Life::training;
  run.write();
  EXPECT_EQ(judge(gather(run.path(), run.last_word() + 3600)).cause, "folder_in_use");
}

TEST(Failures, AreKnownByTheirValuesWhateverTheirWordsAre) {
  using records::IncidentKind;
  const auto cause_of = [](int code, const records::Incident& incident, double at_step = 30) {
    MadeRun run;
    run.start();
    run.train(static_cast<std::int64_t>(at_step));
    run.report(code, english(incident));
    run.events.back().incident = incident;
    return run.why();
  };
  const records::Party rank_1{1, -1, "pi1", 7};
  EXPECT_EQ(cause_of(3, records::failed(rank_1, base::verbatim("x"), base::Cause::disk_full)).cause, "disk_full");
  EXPECT_EQ(cause_of(2, records::told(base::verbatim("x"), base::Cause::port_in_use)).cause, "port_in_use");
  EXPECT_EQ(cause_of(75, records::told(base::verbatim("x"), base::Cause::no_answer)).cause, "ranks_missing");
  EXPECT_EQ(cause_of(3, records::failed(rank_1, base::verbatim("No space left on device"), base::Cause::not_told)).cause,
            "data_refused");
  records::Incident incident;
  incident.who = rank_1;
  incident.kind = IncidentKind::rank_silent;
  EXPECT_EQ(cause_of(75, incident).cause, "host_lost");
  incident.stopped = true;
  EXPECT_EQ(cause_of(75, incident).cause, "rank_hangs");
  incident.kind = IncidentKind::rank_hung;
  incident.stopped = false;
  incident.place = {31, records::Activity::saving, 60};
  EXPECT_EQ(cause_of(75, incident).cause, "slow_disk");
  incident.place.at = records::Activity::evaluating;
  const Diagnosis hangs = cause_of(75, incident);
  EXPECT_EQ(hangs.cause, "rank_hangs");
  EXPECT_THAT(hangs.evidence.front().chinese, HasSubstr("rank 1（主机 pi1，pid 7） 落后：第 31 步，评估"));
}

TEST(Failures, WhatNoRuleKnowsIsNamedByItsExitCode) {
  EXPECT_EQ(cause_of_message(2, "batch.batch_size 7 is not a multiple of num_microbatches 2"), "settings_refused");
  EXPECT_EQ(cause_of_message(3, "the header of 'x' is damaged"), "data_refused");
  EXPECT_EQ(cause_of_message(70, "a buffer has no owner"), "internal_fault");
  EXPECT_EQ(cause_of_message(75, "send of 1 MiB to rank 0 failed: Broken pipe"), "peer_lost");
}

}  // namespace
}  // namespace troika::diagnosis
