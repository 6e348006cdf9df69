#include "train/rank_context.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "base/version.h"

namespace troika::train {
namespace {

TEST(RankContext, RanksOfTwoReleasesDifferInTheFactThatTheyCompareFirst) {
  const rendezvous::Facts facts = settings_facts(config::Settings{}, "", Machine{});
  ASSERT_FALSE(facts.values.empty());
  EXPECT_EQ(facts.values.front(), std::pair(std::string("build"), fmt::format("troika {}", base::version)));
}

}  // namespace
}  // namespace troika::train
