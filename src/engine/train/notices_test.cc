#include "train/notices.h"

#include <gmock/gmock.h>

#include <vector>

namespace troika::train {
namespace {
using testing::ElementsAre;

TEST(Notices, BothListenersHearEachSentenceUntilTheSecondIsTakenAway) {
  std::vector<std::string> first, second;
  Notices notices([&](const std::string& sentence) { first.push_back(sentence); });
  EXPECT_EQ(notices.last(), "");
  notices.hear("one");
  notices.also_tell([&](const std::string& sentence) { second.push_back(sentence); });
  notices.hear("two");
  notices.also_tell({});
  notices.hear("three");
  EXPECT_THAT(first, ElementsAre("one", "two", "three"));
  EXPECT_THAT(second, ElementsAre("two"));
  EXPECT_EQ(notices.last(), "three");
}

}  // namespace
}  // namespace troika::train
