#include "rendezvous/notice_judges.h"

#include <gmock/gmock.h>

namespace troika::rendezvous {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Ranks that report once a second on the progress of their saves, by a clock of the test's.
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

namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StragglerJudgeTest : public ::testing::Test {
 protected:
  // Rank r is alone on host r.
  void start(const std::vector<records::Pace>& paces) {
    for (std::size_t rank = 0; rank < paces.size(); ++rank) {
      judge_.joined(static_cast<int>(rank), {"host" + std::to_string(rank), "", 1, 0, 10});
      judge_.heard(static_cast<int>(rank), paces[rank]);
    }
  }
  std::vector<std::string> look() {
    std::vector<std::string> sentences;
    for (const records::Incident& notice : judge_.judge(now_ += 6)) sentences.push_back(english(notice));
    return sentences;
  }

  StragglerJudge judge_;
  double now_ = 0;
};

TEST_F(StragglerJudgeTest, NamesTheHostThatIsSlowerThanItsLikeOnceWithTheRatio) {
  start({{0.2, 1, 0}, {0.21, 1, 0}, {0.62, 1, 0}, {0.9, 4, 1}, {0.9, 4, 1}});
  EXPECT_THAT(look(), ElementsAre("host host2 is 3.0x slower than its peers (rank 2: 0.62 s per step, others with the same work 0.21 s)"));
  EXPECT_THAT(look(), IsEmpty());
  judge_.heard(2, {0.7, 1, 0});
  EXPECT_THAT(look(), IsEmpty());
  judge_.heard(2, {1.3, 1, 0});
  EXPECT_THAT(look().size(), 1);
  judge_.heard(2, {0.22, 1, 0});
  EXPECT_THAT(look(), ElementsAre("host host2 computes as fast as its peers again"));
}

TEST_F(StragglerJudgeTest, OfTwoTheFasterIsNeverNamed) {
  start({{0.2, 1, 0}, {0.6, 1, 0}});
  EXPECT_THAT(look(),
              ElementsAre("host host1 is 3.0x slower than its peers (rank 1: 0.6 s per step, others with the same work 0.2 s)"));
}

TEST_F(StragglerJudgeTest, WhoHasMoreToDoMayTakeLonger) {
  start({{0.2, 1, 0}, {0.6, 3, 0}, {0.2, 1, 0}});
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(StragglerJudgeTest, StagesOfAPipelineAreComparedByTheirWork) {
  start({{0.2, 1, 0}, {0.3, 1, 1}, {0.63, 1, 2}});
  EXPECT_THAT(look(),
              ElementsAre("host host2 is 2.1x slower than its peers (rank 2: 0.63 s per step, expected from the others 0.3 s)"));
}

TEST_F(StragglerJudgeTest, WhoDoesNotKnowItsPaceIsLeftOut) {
  start({{0, 1, 0}, {0.6, 1, 0}, {0.2, 0, 0}});
  EXPECT_THAT(look(), IsEmpty());
  judge_.heard(0, {0.2, 1, 0});
  judge_.ended(0);
  EXPECT_THAT(look(), IsEmpty());
}

}  // namespace

}  // namespace troika::rendezvous
