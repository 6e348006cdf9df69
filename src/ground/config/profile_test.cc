#include "config/profile.h"

#include <gtest/gtest.h>

namespace troika::config {
namespace {

TEST(Profile, RecordsTheStepsNamed) {
  EXPECT_FALSE(is_profiled("", 1));
  EXPECT_TRUE(is_profiled("all", 1));
  EXPECT_TRUE(is_profiled("all", 123456789));
  EXPECT_TRUE(is_profiled("3", 3));
  EXPECT_FALSE(is_profiled("3", 30));
  for (const std::int64_t step : {2, 5, 6, 7}) EXPECT_TRUE(is_profiled("2,5-7", step)) << step;
  for (const std::int64_t step : {1, 3, 4, 8}) EXPECT_FALSE(is_profiled("2,5-7", step)) << step;
}

TEST(Profile, RefusesWhatIsNeitherStepNorRange) {
  for (const auto* good : {"", "all", "0", "3", "2,5-7", "2, 5-7"}) EXPECT_TRUE(is_profile(good)) << good;
  for (const auto* bad : {"every", "3-", "-3", "7-5", "1,,2", "1;2", "1-2-3", ","}) {
    EXPECT_FALSE(is_profile(bad)) << bad;
    EXPECT_FALSE(is_profiled(bad, 3)) << bad;
  }
}

}  // namespace
}  // namespace troika::config
