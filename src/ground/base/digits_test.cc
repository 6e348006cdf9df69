#include "base/units.h"

#include <gtest/gtest.h>

#include <utility>

namespace troika::base {
namespace {

TEST(FormatDigits, NeverGivesAnExponentToWhatIsLarge) {
  const std::pair<double, const char*> cases[] = {{0, "0"},       {0.01234, "0.0123"}, {4.567, "4.57"},
                                                  {999.4, "999"}, {999.6, "1000"},     {1000, "1000"},
                                                  {9430, "9430"}, {-4560, "-4560"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(format_digits(value, 3), text);
}

}  // namespace
}  // namespace troika::base
