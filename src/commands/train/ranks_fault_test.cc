// Ranks that die, stop, never come or disagree.
#include <gmock/gmock.h>
#include <signal.h>

#include <memory>

#include "base/clock.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"
#include "rendezvous/store.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Ranks : public testing::Test {
 protected:
  Words train(const Words& more) const {
    return small_run(corpus_, out_) + Words{"--log.progress", "none", "--checkpoint.every", "5", "--steps", "100000"} +
           more;
  }

  // What a run had when it was disturbed must be there and whole.
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

TEST_F(Ranks, OneThatIsStoppedIsNamedAfterItsHeartbeatLimit) {
  Program program(launch(3, train({"--pp", "3", "--comm.heartbeat-seconds", "3"})));
  await_step(out_, 7);
  const auto processes = program.processes();
  const double before = base::monotonic_seconds();
  ::kill(program.rank(1), SIGSTOP);
  const End end = program.wait();
  EXPECT_EQ(end.code, 75);
  EXPECT_GE(end.when - before, 2);
  EXPECT_LT(end.when - before, 3 + 10);
  expect_one_voice(end, "rank 1 (host ");
  EXPECT_THAT(end.output, AllOf(HasSubstr("has been silent for 3 s; its last heartbeat came from step "),
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
    EXPECT_THAT(end.output, HasSubstr("rank 2 (node 0) did not come within 3 s"));
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
