#include "rendezvous/straggler_judge.h"

#include <gmock/gmock.h>

namespace troika::rendezvous {
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
