// Ranks that die, stop, never come or disagree.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <stdio.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"
#include "rendezvous/store.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Ranks : public testing::Test {
 protected:
  Words train(const Words& more) const {
    return small_run(corpus_, out_) + Words{"--log.progress", "none", "--checkpoint.every", "5", "--steps", "100000"} +
           more;
  }

  // The state of a run when it was disturbed must be there and whole.
  void expect_nothing_lost(std::int64_t step) const {
    const Rows rows = read_rows(out_);
    ASSERT_GE(rows.size(), static_cast<std::size_t>(step));
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].step, static_cast<std::int64_t>(i) + 1);
    const End end = run(troika({"generate", out_, "--prompt", "the ", "--tokens", "3"}));
    EXPECT_EQ(end.code, 0) << end.output;
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_), out_ = folder_ / "run";
};

void await(const std::function<bool()>& ready, const std::string& what) {
  const double until = base::monotonic_seconds() + patience_seconds;
  while (!ready()) {
    ASSERT_LT(base::monotonic_seconds(), until) << what << " did not come";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// They are written beside training, so that one of a step may come some steps later.
void await_checkpoint(const std::string& out) {
  const auto is_complete = [](const std::string& name) { return name.find('.') == std::string::npos; };
  await(
      [&] {
        const auto names = checkpoints(out);
        return std::any_of(names.begin(), names.end(), is_complete);
      },
      "a checkpoint");
}

// One line, said once: no list of messages, no second voice.
void expect_one_voice(const End& end, const std::string& sentence) {
  const auto at = end.output.find(sentence);
  ASSERT_NE(at, std::string::npos) << end.output;
  EXPECT_EQ(end.output.find(sentence, at + 1), std::string::npos) << end.output;
  EXPECT_THAT(end.output, Not(HasSubstr("last operations")));
}

TEST_F(Ranks, OneThatIsKilledEndsTheOthersAndIsNamed) {
  for (const int failed : {0, 1}) {
    base::remove_tree(out_);
    Program program(launch(3, train({"--pp", "3"})));
    await_step(out_, 7);
    await_checkpoint(out_);
    const auto processes = program.processes();
    const double before = base::monotonic_seconds();
    ::kill(program.rank(failed), SIGKILL);
    const End end = program.wait();
    EXPECT_EQ(end.code, 75);
    EXPECT_LT(end.when - before, 10);
    expect_one_voice(end, "rank " + std::to_string(failed) + " (host ");
    EXPECT_THAT(end.output, HasSubstr("was killed by signal 9 (SIGKILL)"));
    expect_ended(processes);
    expect_nothing_lost(7);
    EXPECT_THAT(base::read_file(out_ + "/logs/rank-00002.log"), HasSubstr("last operations of rank 2"));
  }
}

// A write to the socket of a peer that has just died raises SIGPIPE: a rank that died of it would be named in the peer's place.
// So does a write to a pipe whose reader has gone, in the launcher too.
TEST_F(Ranks, BrokenPipesEndNone) {
  Program program(launch(2, train({"--pp", "2"})));
  await_step(out_, 2);
  for (const pid_t process : program.processes()) ::kill(process, SIGPIPE);
  await_step(out_, static_cast<std::int64_t>(read_rows(out_).size()) + 20);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().code, 130);
}

TEST_F(Ranks, OneThatIsStoppedIsNamedAfterItsHeartbeatLimit) {
  Program program(launch(3, train({"--pp", "3", "--comm.heartbeat-seconds", "3"})));
  await_step(out_, 7);
  await_checkpoint(out_);
  const auto processes = program.processes();
  const double before = base::monotonic_seconds();
  ::kill(program.rank(1), SIGSTOP);
  for (const char* log : {"/logs/rank-00000.log", "/logs/rank-00002.log"})
    await([&] { return base::read_file(out_ + log).find("has been silent") != std::string::npos; }, "the report");
  EXPECT_LT(base::monotonic_seconds() - before, 3 + 2);
  const End end = program.wait();
  EXPECT_EQ(end.code, 75);
  EXPECT_GE(end.when - before, 2);
  EXPECT_LT(end.when - before, 3 + 10);
  expect_one_voice(end, "is stopped by signal 19 (SIGSTOP); kill -CONT ");
  expect_one_voice(end, "has been silent");
  EXPECT_THAT(end.output, AllOf(ContainsRegex("rank 1 \\(host [^ ]+, pid [0-9]+\\) has been silent"),
                                HasSubstr("has been silent for 3 s; its last heartbeat came from step "),
                                HasSubstr("comm.heartbeat_seconds sets the limit")));
  expect_ended(processes);
  expect_nothing_lost(7);
}

// Nobody waits for them as a parent does: rank 0's watch must find out.
TEST_F(Ranks, StartedByHandNameTheOneThatWasKilled) {
  for (const std::size_t failed : {1, 0}) {
    base::remove_tree(out_);
    const int port = free_port();
    std::vector<std::unique_ptr<Program>> ranks;
    for (const int rank : {0, 1, 2})
      ranks.push_back(std::make_unique<Program>(troika(train({"--pp", "3"})), as_torchrun(rank, 3, port)));
    await_step(out_, 5);
    const double before = base::monotonic_seconds();
    ranks[failed]->signal(SIGKILL);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const End end = ranks[rank]->wait();
      if (rank == failed) continue;
      EXPECT_EQ(end.code, 75);
      EXPECT_LT(end.when - before, 10);
      expect_one_voice(end, "troika: rank " + std::to_string(failed) + (failed == 0 ? " at " : " (host "));
    }
  }
}

TEST_F(Ranks, OneThatNeverComesIsNamedByAllOthers) {
  const int port = free_port();
  const Words words = troika(train({"--pp", "3", "--comm.join-seconds", "3"}));
  const double before = base::monotonic_seconds();
  Program zero(words, as_torchrun(0, 3, port)), one(words, as_torchrun(1, 3, port));
  for (Program* program : {&zero, &one}) {
    const End end = program->wait();
    EXPECT_EQ(end.code, 75);
    EXPECT_LT(end.when - before, 3 + 10);
    EXPECT_THAT(end.output, HasSubstr("rank 2 (node 0) did not join within 3 s"));
  }
}

TEST_F(Ranks, WithDifferentSettingsEndOnBothNamingTheField) {
  const int port = free_port();
  const double before = base::monotonic_seconds();
  Program zero(troika(train({"--dp", "2"})), as_torchrun(0, 2, port));
  Program one(troika(train({"--dp", "2", "--lr", "0.5"})), as_torchrun(1, 2, port));
  for (Program* program : {&zero, &one}) {
    const End end = program->wait();
    EXPECT_EQ(end.code, 2) << end.output;
    EXPECT_LT(end.when - before, 10);
    expect_one_voice(end, "optimizer.lr = 0.5 on rank 1 but 0.0003 on rank 0");
  }
  EXPECT_TRUE(checkpoints(out_).empty());
}

TEST_F(Ranks, WithDifferentDataEndOnBoth) {
  const int port = free_port();
  base::write_file_atomic(folder_ / "other.txt", base::read_file(corpus_) + "and more\n");
  Program zero(troika(train({"--dp", "2"})), as_torchrun(0, 2, port));
  Program one(troika(train({"--dp", "2", "--data.train", folder_ / "other.txt"})), as_torchrun(1, 2, port));
  for (Program* program : {&zero, &one}) {
    const End end = program->wait();
    EXPECT_EQ(end.code, 2) << end.output;
    expect_one_voice(end, "data = ");
  }
}

TEST_F(Ranks, OfWhichOneLacksItsDataEndTogetherWithItsCode) {
  const int port = free_port();
  const double before = base::monotonic_seconds();
  Program zero(troika(train({"--dp", "2"})), as_torchrun(0, 2, port));
  Program one(troika(train({"--dp", "2", "--data.train", folder_ / "nowhere.txt"})), as_torchrun(1, 2, port));
  const End first = zero.wait(), second = one.wait();
  EXPECT_EQ(first.code, 75);
  EXPECT_EQ(second.code, 3);
  for (const End& end : {first, second}) {
    EXPECT_LT(end.when - before, 10);
    expect_one_voice(end, "nowhere.txt' does not exist");
  }
}

TEST_F(Ranks, SaveByTimeWithoutBeingAsked) {
  Program program(launch(2, train({"--dp", "2", "--checkpoint.every", "0", "--checkpoint.every-minutes", "0.002"})));
  await_checkpoint(out_);
  const auto processes = program.processes();
  ::kill(program.pid(), SIGKILL);
  program.wait();
  expect_ended(processes);
  expect_nothing_lost(1);
}

// A disk that fails for a while: the folder of checkpoints is a file.
TEST_F(Ranks, WhoseSaveFailsGoOnAndTryAgain) {
  Program program(launch(2, train({"--dp", "2"})));
  await_step(out_, 7);
  await_checkpoint(out_);
  const std::string folder = out_ + "/checkpoints";
  const std::string aside = out_ + "/aside";
  // At one stroke, because the run makes the folder where there is nothing.
  const auto exchange = [&] {
    return ::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, aside.c_str(), RENAME_EXCHANGE) == 0;
  };
  base::write_file_atomic(aside, "in the way");
  await([&] { return !checkpoints(out_).empty() && exchange(); }, "a folder");
  program.await_output("could not be saved: ");
  program.await_output("; the run continues and retries in a minute, or after step ");
  ASSERT_TRUE(exchange());
  const std::string before = checkpoints(out_).back();
  await([&] { return checkpoints(out_).back() > before; }, "another checkpoint");
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 130);
  expect_nothing_lost(7);
}

TEST_F(Ranks, WhoseLastSaveFailsSayThatNothingIsSavedAndPromiseNoOtherTry) {
  Program program(troika(train({"--checkpoint.every", "0"})));
  await_step(out_, 3);
  base::remove_tree(out_ + "/checkpoints");
  base::write_file_atomic(out_ + "/checkpoints", "in the way");
  program.signal(SIGTERM);
  const End end = program.wait();
  EXPECT_EQ(end.code, 3) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("could not be saved: "), HasSubstr("nothing from the run is saved so far"),
                    HasSubstr("rerun the same command, which starts over"), Not(HasSubstr("in a minute"))));
}

// Another launch that finds this one's store, because both keep the usual port.
TEST_F(Ranks, OfAnotherLaunchAreTurnedAwayAndTheRunGoesOn) {
  const int port = free_port();
  const Words words = train({"--dp", "2"});
  Program zero(troika(words), as_torchrun(0, 2, port)), one(troika(words), as_torchrun(1, 2, port));
  await_step(out_, 3);
  const End by_hand = run(troika(words), as_torchrun(1, 2, port));
  EXPECT_EQ(by_hand.code, 2);
  expect_one_voice(by_hand, "two processes claim rank 1: this one (host ");
  EXPECT_THAT(by_hand.output, HasSubstr("and pid " + std::to_string(one.pid()) + " on host "));
  Variables other = as_torchrun(1, 2, port);
  other["TORCHELASTIC_RUN_ID"] = "another";
  const End launched = run(troika(words), other);
  EXPECT_EQ(launched.code, 2);
  expect_one_voice(launched, "(pid " + std::to_string(zero.pid()) + "), rejects this process: it belongs to");
  await_step(out_, read_rows(out_).back().step + 3);
  zero.signal(SIGTERM);
  EXPECT_EQ(zero.wait().code, 130);
  EXPECT_EQ(one.wait().code, 130);
}

TEST_F(Ranks, OfASecondRunInTheSameFolderAreRefusedAndTheFirstGoesOn) {
  Program first(launch(2, train({"--dp", "2"})));
  await_step(out_, 3);
  const End second = run(launch(2, train({"--dp", "2"})));
  EXPECT_EQ(second.code, 2);
  expect_one_voice(second,
                   "another run writes to '" + out_ + "': process " + std::to_string(first.rank(0)) + " on host ");
  await_step(out_, read_rows(out_).back().step + 3);
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().code, 130);
  expect_nothing_lost(3);
}

// Host 0's ranks have joined and wait for the last one when one of them dies.
TEST_F(Ranks, OneThatDiesBetweenJoiningAndTheFirstStepIsMissed) {
  const int port = free_port();
  const Words words = troika(train({"--dp", "3", "--comm.heartbeat-seconds", "3"}));
  Program zero(words, as_torchrun(0, 3, port)), two(words, as_torchrun(2, 3, port));
  rendezvous::StoreClient client("127.0.0.1", port + 1, 20);
  client.get("-/0/join/000002", 60);
  two.signal(SIGKILL);
  const double killed = base::monotonic_seconds();
  Program one(words, as_torchrun(1, 3, port));
  for (Program* program : {&zero, &one}) {
    const End end = program->wait();
    EXPECT_EQ(end.code, 75);
    EXPECT_LT(end.when - killed, 3 + 10);
    expect_one_voice(end, "rank 2 (host ");
  }
}

TEST_F(Ranks, FindATakenPortNamedWithItsHolder) {
  const int port = free_port();
  const rendezvous::StoreServer holder(port + 1);  // where rank 0's store would listen
  const End by_hand = run(troika(train({"--dp", "2"})), as_torchrun(0, 2, port));
  EXPECT_EQ(by_hand.code, 2);
  expect_one_voice(by_hand, "port " + std::to_string(port + 1) + " is held by '");
  const End launched =
      run(troika({"launch", "--nproc-per-node", "2", "--master-port", std::to_string(port + 1), "--"}) +
          train({"--dp", "2"}));
  EXPECT_EQ(launched.code, 2);
  expect_one_voice(launched, "port " + std::to_string(port + 1) + " is held by '");
}

}  // namespace
}  // namespace troika::commands
