#include "rendezvous/stall_judge.h"

#include <gmock/gmock.h>

namespace troika::rendezvous {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using records::doing_of;

constexpr double stall_period = 0.2;

// Ranks that say once a second where they are, and a judge that looks five times a second.
class StallJudgeTest : public ::testing::Test {
 protected:
  struct Standing {
    records::Place place;
    double since = 0;
    bool beats = true;
  };

  void start(int ranks) {
    standing_.resize(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      judge_.joined(rank, {"desk", "127.0.0.1", 100 + rank, 0, 10});
      at(rank, {3, doing_of("fwd 0.1"), 0, 0.2});
    }
  }
  Standing& of(int rank) { return standing_.at(static_cast<std::size_t>(rank)); }
  void at(int rank, const records::Place& place) { of(rank) = {place, now_}; }
  void wait(int rank, int other) { at(rank, {3, doing_of("bwd 1.1"), 0, 0.3, other}); }

  struct Said {
    std::vector<std::string> sentences;
    std::optional<FailureReport> report;
  };
  // Runs until a notice or a report, or so many seconds.
  Said within(double seconds) {
    for (const double until = now_ + seconds; now_ < until; now_ += stall_period, ++ticks_) {
      for (std::size_t rank = 0; ticks_ % 5 == 0 && rank < standing_.size(); ++rank) {
        const Standing& standing = standing_[rank];
        if (!standing.beats) continue;
        Heartbeat beat{++count_, 20, 1, standing.place, limit_};
        beat.place.seconds = now_ - standing.since;
        judge_.heard(static_cast<int>(rank), beat, now_);
      }
      const StallJudge::Findings found = judge_.judge(now_);
      Said said{{}, found.report};
      for (const records::Incident& notice : found.notices) said.sentences.push_back(english(notice));
      if (found.report || !said.sentences.empty()) return said;
    }
    return {};
  }

  // Like within, for all working: each takes as long as is usual.
  void work(double seconds) {
    for (const double until = now_ + seconds; now_ < until;) {
      for (Standing& standing : standing_) standing.since = now_ - 0.1;
      EXPECT_THAT(within(1).sentences, IsEmpty());
    }
  }

  // All of it is stopped for so long, and continues where it stood.
  void pause(double seconds) { now_ += seconds; }

  StallJudge judge_{stall_period};
  double now_ = 1000, limit_ = 1800;

 private:
  std::vector<Standing> standing_;
  int ticks_ = 0;
  std::int64_t count_ = 0;
};

TEST_F(StallJudgeTest, NamesTheRankThatAllOthersWaitForByWayOfOneAnother) {
  start(3);
  work(20);
  at(2, {41, doing_of("fwd 3.2"), 0, 0.2});
  wait(1, 2);
  wait(0, 1);
  const double before = now_;
  const auto found = within(30);
  EXPECT_LT(now_ - before, 7);
  EXPECT_FALSE(found.report);
  EXPECT_THAT(found.sentences, ElementsAre(StartsWith("rank 2 (host desk, pid 102) is behind: step 41, fwd 3.2 for ")));
  EXPECT_THAT(found.sentences[0], HasSubstr(" s (usually 0.2 s); 2 ranks wait for it"));
}

TEST_F(StallJudgeTest, SaysOnceWhenItBeginsAndOnceWhenItEnds) {
  start(2);
  wait(0, 1);
  EXPECT_THAT(within(10).sentences, ElementsAre(HasSubstr("rank 1 (host desk, pid 101) is behind")));
  EXPECT_THAT(within(25).sentences, IsEmpty());
  at(1, {3, doing_of("step 1"), 0, 0.1});
  EXPECT_THAT(within(5).sentences, ElementsAre(HasSubstr("rank 1 (host desk, pid 101) resumed after 3")));
  work(10);
}

TEST_F(StallJudgeTest, WhatIsUsuallySlowMayBeSlow) {
  start(2);
  at(1, {3, doing_of("fwd 0.1"), 0, 20});
  wait(0, 1);
  EXPECT_THAT(within(43).sentences, IsEmpty());
  EXPECT_THAT(within(10).sentences, ElementsAre(HasSubstr("(usually 20 s)")));
}

TEST_F(StallJudgeTest, ARankThatStandsLongerThanItsLimitIsHung) {
  limit_ = 60;
  start(3);
  wait(0, 2);
  wait(1, 2);
  EXPECT_THAT(within(10).sentences, ElementsAre(HasSubstr("rank 2 ")));
  const auto found = within(100);
  ASSERT_TRUE(found.report);
  EXPECT_EQ(found.report->exit_code, 75);
  EXPECT_THAT(found.report->text(), StartsWith("rank 2 (host desk, pid 102) is behind: step 3, fwd 0.1 for 6"));
  EXPECT_THAT(found.report->text(), HasSubstr("comm.timeout_seconds (60) is the limit"));
}

TEST_F(StallJudgeTest, ATimeInWhichAllWerePausedDoesNotCount) {
  limit_ = 60;
  start(2);
  work(20);
  at(1, {41, doing_of("fwd 3.2"), 0, 0.2});
  wait(0, 1);
  EXPECT_THAT(within(2).sentences, IsEmpty());
  pause(4000);
  EXPECT_THAT(within(2).sentences, IsEmpty());
  pause(4000);
  EXPECT_THAT(within(20).sentences, ElementsAre(HasSubstr("is behind: step 41, fwd 3.2 for 6 s")));
  const auto found = within(100);
  ASSERT_TRUE(found.report);
  EXPECT_THAT(found.report->text(), HasSubstr("step 41, fwd 3.2 for 6"));
}

TEST_F(StallJudgeTest, BeforeTheFirstStepARankMayTakeAsLongAsItNeeds) {
  limit_ = 60;
  start(3);
  at(0, {0, doing_of("preparing the data")});
  at(1, {0, doing_of("agreeing on settings"), 0, 0, records::waits_for_others});
  at(2, {0, doing_of("agreeing on settings"), 0, 0, records::waits_for_others});
  EXPECT_THAT(within(29).sentences, IsEmpty());
  EXPECT_THAT(within(10).sentences,
              ElementsAre(StartsWith("rank 0 (host desk, pid 100) is behind: preparing the data for 3")));
  EXPECT_FALSE(within(10000).report);
}

TEST_F(StallJudgeTest, WhereNobodyWaitsARankMayStandButNotAllTogether) {
  limit_ = 60;
  start(2);
  at(0, {3, doing_of("saving a checkpoint"), 0, 0.5});
  for (int second = 0; second < 100; ++second) {
    of(1).since = now_;
    EXPECT_FALSE(within(1).report);
  }
  at(1, {3, doing_of("saving a checkpoint"), 0, 0.5});
  EXPECT_TRUE(within(100).report);
}

TEST_F(StallJudgeTest, OfACutConnectionBothEndsAreNamed) {
  limit_ = 60;
  start(3);
  work(5);
  wait(0, 1);
  wait(1, 2);
  wait(2, 1);
  const auto found = within(20);
  ASSERT_THAT(found.sentences, ElementsAre(HasSubstr("rank 1 (host desk, pid 101) is behind: step 3, bwd 1.1 for ")));
  EXPECT_THAT(found.sentences[0],
              HasSubstr("it and rank 2 (host desk, pid 102) wait for each other: messages are not getting through, check the network between their hosts; 2 ranks wait for it"));
  EXPECT_TRUE(within(100).report);
}

TEST_F(StallJudgeTest, OneThatIsNotHeardWhileOthersWaitIsNamedBeforeItsLimit) {
  start(3);
  work(5);
  of(2).beats = false;
  EXPECT_THAT(within(0.1).sentences, IsEmpty());
  wait(0, 1);
  wait(1, 2);
  const auto found = within(10);
  EXPECT_THAT(found.sentences, ElementsAre(HasSubstr("rank 2 (host desk, pid 102) has sent no heartbeat for 5 s; its last status was step 3, fwd 0.1 (usually 0.2 s)")));
}

TEST_F(StallJudgeTest, WhoIsStoppedIsNamedByItsLauncherAlone) {
  start(3);
  work(5);
  of(2).beats = false;
  wait(0, 1);
  wait(1, 2);
  EXPECT_THAT(within(1), ::testing::Field(&Said::sentences, IsEmpty()));
  judge_.stopped(2, StoppedRank::State::stopped);
  EXPECT_THAT(within(60).sentences, IsEmpty());
  judge_.stopped(2, StoppedRank::State::runs);  // and is not heard all the same
  EXPECT_THAT(within(1).sentences, ElementsAre(HasSubstr("rank 2 (host desk, pid 102) has sent no heartbeat")));
}

TEST_F(StallJudgeTest, AnEndIsNoStall) {
  start(2);
  wait(0, 1);
  EXPECT_THAT(within(10).sentences, ElementsAre(HasSubstr("rank 1 ")));
  of(1).beats = false;
  judge_.ended(1);
  EXPECT_THAT(within(60).sentences, IsEmpty());
}

TEST_F(StallJudgeTest, CountsOthersThatAreBehindToo) {
  start(4);
  for (int rank : {1, 2}) at(rank, {3, doing_of("saving a checkpoint"), 0, 0.1});
  wait(0, 1);
  wait(3, 2);
  EXPECT_THAT(within(10).sentences, ElementsAre(HasSubstr("rank 1 (host desk, pid 101) is behind: step 3, saving a "
                                                          "checkpoint for ")));
}

TEST(Beats, ComeBackAsTheyWereWritten) {
  Heartbeat beat{7, 2.5, 3, {41, doing_of("saving a checkpoint"), 12.25, 0.125, 5}, 60};
  beat.pace = {0.5, 3e12, 2};
  beat.save = {40, "run/checkpoints/step-00000040", 7.5, 0.25, true};
  const Heartbeat read = parse_heartbeat(to_text(beat));
  EXPECT_EQ(to_text(read), to_text(beat));
  EXPECT_EQ(read.place.at, records::Activity::saving);
  EXPECT_EQ(read.place.waits_for, 5);
  EXPECT_EQ(read.save.folder, "run/checkpoints/step-00000040");
  EXPECT_TRUE(read.save.awaited);
  EXPECT_EQ(parse_heartbeat("1\n2\n").place.step, -1);
  EXPECT_EQ(records::said_with_seconds(read.place).english, "step 41, saving a checkpoint for 12 s (usually 0.12 s)");
}

}  // namespace
}  // namespace troika::rendezvous
