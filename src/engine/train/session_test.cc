#include "train/session.h"

#include <gmock/gmock.h>

#include <vector>

namespace troika::train {
namespace {
using testing::ElementsAre;

TEST(Notices, BothListenersHearEachSentenceUntilTheSecondIsTakenAway) {
  std::vector<std::string> first, second;
  Notices notices([&](const records::Incident& notice) { first.push_back(english(notice)); });
  EXPECT_EQ(notices.last().english, "");
  notices.hear(records::told(base::verbatim("one")));
  notices.also_tell([&](const records::Incident& notice) { second.push_back(english(notice)); });
  notices.hear(records::told(base::verbatim("two")));
  notices.also_tell({});
  notices.hear(records::told(base::verbatim("three")));
  EXPECT_THAT(first, ElementsAre("one", "two", "three"));
  EXPECT_THAT(second, ElementsAre("two"));
  EXPECT_EQ(notices.last().english, "three");
}

}  // namespace
}  // namespace troika::train
