#include "rendezvous/failure_judge.h"

#include <gmock/gmock.h>

namespace troika::rendezvous {
namespace {
using ::testing::HasSubstr;

constexpr double period = 0.2;

// Ranks that beat once a second unless they stop, and a judge that looks five times a second.
class FailureJudgeTest : public ::testing::Test {
 protected:
  void start(int ranks, double limit_seconds) {
    limit_seconds_ = limit_seconds;
    for (int rank = 0; rank < ranks; ++rank)
      judge_.joined(rank, {"desk", "127.0.0.1", 100 + rank, 0, limit_seconds}, now_);
    stopped_.assign(static_cast<std::size_t>(ranks), false);
  }
  void stop(int rank) { stopped_[static_cast<std::size_t>(rank)] = true; }
  void use_connection(std::int64_t number) { connection_ = number; }
  // The verdict within so many seconds, and its time in `now_`; "" for nothing.
  std::string within(double seconds) {
    for (const double until = now_ + seconds; now_ < until; now_ += period, ++ticks_) {
      for (std::size_t rank = 0; ticks_ % 5 == 0 && rank < stopped_.size(); ++rank)
        if (!stopped_[rank])
          judge_.heard(static_cast<int>(rank),
                       {++count_, limit_seconds_, connection_, {3, records::doing_of("fwd 0.1")}}, now_);
      if (const auto report = judge_.judge(now_)) return report->text();
    }
    return "";
  }

  FailureJudge judge_{period};
  double now_ = 1000;

 private:
  double limit_seconds_ = 10;
  int ticks_ = 0;
  std::int64_t count_ = 0, connection_ = 1;
  std::vector<bool> stopped_;
};

TEST_F(FailureJudgeTest, ASilentRankIsNamedAfterItsLimit) {
  start(3, 5);
  EXPECT_EQ(within(60), "");
  stop(1);
  const double before = now_;
  EXPECT_THAT(within(20), HasSubstr("rank 1 (host desk, pid 101) has been silent for 5 s; its last heartbeat came from "
                                    "step 3, fwd 0.1"));
  EXPECT_LT(now_ - before, 5.5);
}

TEST_F(FailureJudgeTest, ARankThatJoinedAndNeverBeatIsMissed) {
  start(3, 5);
  stop(2);
  EXPECT_THAT(within(30), HasSubstr("rank 2 (host desk, pid 102) has been silent for 5 s; it joined but sent no"));
}

TEST_F(FailureJudgeTest, ARankThatIsStoppedBeforeItJoinsIsNotMissed) {
  start(2, 5);
  judge_.stopped(2, StoppedRank::State::stopped);
  EXPECT_EQ(within(60), "");
  judge_.failed(0, {75, base::verbatim("rank 1 broke the connection")});
  EXPECT_THAT(within(5), HasSubstr("rank 1 broke the connection"));
}

TEST_F(FailureJudgeTest, ACauseWinsOverConsequences) {
  start(3, 10);
  EXPECT_EQ(within(3), "");
  judge_.failed(0, {75, base::verbatim("connection closed by peer")});
  EXPECT_EQ(within(0.6), "");
  judge_.failed(2, {3, base::verbatim("shard 7 is truncated")});
  EXPECT_EQ(within(1), "rank 2 (host desk, pid 102) failed: shard 7 is truncated");
}

TEST_F(FailureJudgeTest, ARankThatSpokeIsToldFromOneThatWasFound) {
  start(3, 10);
  EXPECT_EQ(within(3), "");
  judge_.failed(2, {3, base::verbatim("shard 7 is truncated"), base::Cause::unreadable_file});
  const auto report = judge_.judge(now_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->incident.kind, records::IncidentKind::rank_failed);
  EXPECT_EQ(report->incident.cause, base::Cause::unreadable_file);
  const FailureReport read = parse_failure_report(to_text(*report));
  EXPECT_EQ(read.exit_code, 3);
  EXPECT_EQ(read.incident.who, (records::Party{2, -1, "desk", 102}));
  EXPECT_EQ(read.text(), report->text());
}

TEST_F(FailureJudgeTest, OfConsequencesAloneTheFirstIsNamed) {
  start(3, 10);
  EXPECT_EQ(within(3), "");
  judge_.failed(2, {75, base::verbatim("timed out")});
  EXPECT_EQ(within(0.4), "");
  judge_.failed(0, {75, base::verbatim("connection closed by peer")});
  EXPECT_THAT(within(5), HasSubstr("rank 2 (host desk, pid 102) failed: timed out"));
}

TEST_F(FailureJudgeTest, ARankThatVanishedIsNamedBeforeThoseWhoseConnectionsItBroke) {
  start(3, 30);
  EXPECT_EQ(within(3), "");
  stop(1);
  judge_.failed(0, {75, base::verbatim("connection closed by peer")});
  const double before = now_;
  EXPECT_THAT(within(10), HasSubstr("rank 1 (host desk, pid 101) ended without an error message"));
  EXPECT_LT(now_ - before, 3);
}

TEST_F(FailureJudgeTest, ARankThatLeavesWithoutAWordIsNamedSoonUnlessItComesBack) {
  start(3, 30);
  EXPECT_EQ(within(3), "");
  judge_.left(2, 1, now_);
  const double before = now_;
  stop(2);
  EXPECT_THAT(within(10), HasSubstr("rank 2 (host desk, pid 102) ended without an error message"));
  EXPECT_LT(now_ - before, 2.5);
}

TEST_F(FailureJudgeTest, ARankThatOpensAnotherConnectionHasNotLeft) {
  start(3, 30);
  EXPECT_EQ(within(3), "");
  judge_.left(2, 1, now_);
  use_connection(2);
  EXPECT_EQ(within(60), "");
}

TEST_F(FailureJudgeTest, WhoLeftIsNamedBeforeThoseWhoseConnectionsItBroke) {
  start(3, 30);
  EXPECT_EQ(within(3), "");
  stop(2);
  judge_.left(2, 1, now_);
  judge_.failed(0, {75, base::verbatim("connection closed by peer")});
  EXPECT_THAT(within(10), HasSubstr("rank 2 (host desk, pid 102) ended without an error message"));
}

TEST_F(FailureJudgeTest, APauseOfTheJudgeItselfSaysNothing) {
  start(2, 5);
  EXPECT_EQ(within(3), "");
  now_ += 3600;
  EXPECT_EQ(within(10), "");
}

TEST_F(FailureJudgeTest, WhoIsDoneMayBeSilent) {
  start(2, 5);
  EXPECT_EQ(within(3), "");
  judge_.done(1);
  stop(1);
  EXPECT_EQ(within(60), "");
}

TEST(FailureJudge, ALauncherThatWasKilledIsNamedBeforeItsRanks) {
  FailureJudge judge(period);
  judge.joined(0, Peer{"a", "10.0.0.1", 10, 0, 10}, 0);
  judge.joined(1, Peer{"b", "10.0.0.2", 11, 1, 10}, 0);
  judge.launcher_left({-1, 1, "b", 9}, 1);
  judge.left(1, 1, 1);
  EXPECT_FALSE(judge.judge(1).has_value());
  EXPECT_FALSE(judge.judge(1.2).has_value());
  const auto report = judge.judge(1.4);
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(report->text(), HasSubstr("the launcher of host 1 (host b, pid 9) was killed"));
}

TEST(FailureJudge, ALauncherWhoseRanksHaveEndedWellIsNotMissed) {
  FailureJudge judge(period);
  judge.joined(0, Peer{"a", "10.0.0.1", 10, 0, 10}, 0);
  judge.joined(1, Peer{"b", "10.0.0.2", 11, 1, 10}, 0);
  judge.launcher_left({-1, 1, "b", 9}, 1);
  judge.done(1);
  for (double now = 1; now < 3; now += period) EXPECT_FALSE(judge.judge(now).has_value());
}

}  // namespace
}  // namespace troika::rendezvous
