#include "rendezvous/save_judge.h"

#include <gmock/gmock.h>

namespace troika::rendezvous {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Ranks that say once a second how their saves stand, by a clock of the test's.
class SaveJudgeTest : public ::testing::Test {
 protected:
  struct Saving {
    Save save;
    double since = 0;
  };

  void start(int ranks) {
    saving_.resize(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) judge_.joined(rank, {"desk", "127.0.0.1", 100 + rank, 0, 10});
  }
  Saving& of(int rank) { return saving_.at(static_cast<std::size_t>(rank)); }
  void saves(int rank, std::int64_t step, double usual = 0) {
    of(rank) = {{step, "run/checkpoints/step-00000040", 0, usual}, now_};
  }
  void writes(int rank) { of(rank).since = now_; }
  void is_done(int rank) { of(rank) = {}; }

  // Runs until a sentence, or so many seconds.
  std::vector<std::string> within(double seconds) {
    for (const double until = now_ + seconds; now_ < until; now_ += 1) {
      for (std::size_t rank = 0; rank < saving_.size(); ++rank) {
        Heartbeat beat;
        beat.save = saving_[rank].save;
        beat.save.seconds = now_ - saving_[rank].since;
        judge_.heard(static_cast<int>(rank), beat);
      }
      std::vector<std::string> sentences;
      for (const records::Incident& notice : judge_.judge()) sentences.push_back(english(notice));
      if (!sentences.empty()) return sentences;
    }
    return {};
  }

  SaveJudge judge_;
  double now_ = 1000;

 private:
  std::vector<Saving> saving_;
};

TEST_F(SaveJudgeTest, NamesTheRankTheFolderAndSinceWhenOnce) {
  start(3);
  for (int rank = 0; rank < 3; ++rank) saves(rank, 40);
  is_done(0);
  for (int second = 0; second < 60; ++second) {
    writes(1);
    writes(2);
    EXPECT_THAT(within(1), IsEmpty());
  }
  const double before = now_;
  is_done(1);
  EXPECT_THAT(within(60), ElementsAre(StartsWith(
                              "rank 2 (host desk, pid 102) has written nothing for 21 s to the checkpoint of step "
                              "40 in 'run/checkpoints/step-00000040': check its disk; training continues")));
  EXPECT_LE(now_ - before, 22);
  EXPECT_THAT(within(1000), IsEmpty());
}

TEST_F(SaveJudgeTest, SaysWhenItIsWrittenAgain) {
  start(1);
  saves(0, 40);
  EXPECT_THAT(within(60), ElementsAre(HasSubstr("has written nothing")));
  EXPECT_THAT(within(30), IsEmpty());
  writes(0);
  EXPECT_THAT(within(5), ElementsAre(StartsWith("rank 0 (host desk, pid 100) is writing again after 5")));
  is_done(0);
  EXPECT_THAT(within(100), IsEmpty());
}

TEST_F(SaveJudgeTest, WhatUsuallyTakesLongMayTakeLong) {
  start(1);
  saves(0, 40, 30);
  EXPECT_THAT(within(80), IsEmpty());
  EXPECT_THAT(within(5), ElementsAre(HasSubstr("for 81 s")));
}

TEST_F(SaveJudgeTest, CountsOthersOfADiskThatAllShare) {
  start(3);
  for (int rank = 0; rank < 3; ++rank) saves(rank, 40);
  EXPECT_THAT(within(60), ElementsAre(HasSubstr("complete before it; 2 more ranks do the same")));
}

TEST_F(SaveJudgeTest, WhoWaitsForItsOwnSaveIsNamedByTheStallJudge) {
  start(2);
  saves(0, 40);
  of(0).save.awaited = true;
  EXPECT_THAT(within(100), IsEmpty());
}

TEST_F(SaveJudgeTest, OfARankThatHasEndedNothingMoreIsSaid) {
  start(1);
  saves(0, 40);
  EXPECT_THAT(within(60), ElementsAre(HasSubstr("rank 0 ")));
  judge_.ended(0);
  EXPECT_THAT(judge_.judge(), IsEmpty());
  is_done(0);
  EXPECT_THAT(within(100), IsEmpty());
}

}  // namespace
}  // namespace troika::rendezvous
