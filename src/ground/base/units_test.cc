#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace troika::base {
namespace {

TEST(FormatBytes, UsesBinaryUnits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(std::int64_t{5} << 20), "5.00 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{139} << 30), "139.0 GiB");
  EXPECT_EQ(format_bytes(std::int64_t{3} << 50), "3072.0 TiB");
}

TEST(FormatBytes, StepsToTheNextUnitBeforeItWouldPrintAThousandTwentyFour) {
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1.00 MiB");
  EXPECT_EQ(format_bytes((std::int64_t{1} << 30) - 1), "1.00 GiB");
  EXPECT_EQ(format_bytes(10 * 1024 - 1), "10.0 KiB");
}

TEST(FormatCount, ShortensAboveTenThousand) {
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(9999), "9999");
  EXPECT_EQ(format_count(10000), "10.0 K");
  EXPECT_EQ(format_count(4200000), "4.2 M");
  EXPECT_EQ(format_count(1300000000), "1.30 B");
}

TEST(FormatCount, StepsToTheNextUnitBeforeItWouldPrintAThousand) {
  EXPECT_EQ(format_count(999949), "999.9 K");
  EXPECT_EQ(format_count(999999), "1.0 M");
  EXPECT_EQ(format_count(999999999), "1.00 B");
}

TEST(FormatDuration, ChoosesTheUnitAPersonWouldUse) {
  EXPECT_EQ(format_duration(0), "0.0 ms");
  EXPECT_EQ(format_duration(0.0008), "0.8 ms");
  EXPECT_EQ(format_duration(2.5), "2.5 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(61), "1 min 01 s");
  EXPECT_EQ(format_duration(3900), "1 h 05 min");
  EXPECT_EQ(format_duration(100 * 3600), "100 h 00 min");
}

TEST(FormatDuration, NeverPrintsSixtySecondsOrAThousandMilliseconds) {
  EXPECT_EQ(format_duration(0.99999), "1.0 s");
  EXPECT_EQ(format_duration(59.97), "1 min 00 s");
  EXPECT_EQ(format_duration(3599.9), "1 h 00 min");
}

TEST(ParseBytes, KnowsPowersOfAThousandAndOf1024) {
  std::int64_t bytes = -1;
  const std::pair<const char*, std::int64_t> cases[] = {{"64", 64},
                                                        {"0", 0},
                                                        {"64B", 64},
                                                        {"64K", 64000},
                                                        {"64kb", 64000},
                                                        {"1.5MiB", 1572864},
                                                        {"2GB", 2000000000},
                                                        {"2 GiB", std::int64_t{2} << 30},
                                                        {"1TiB", std::int64_t{1} << 40}};
  for (const auto& [text, expected] : cases) {
    EXPECT_TRUE(parse_bytes(text, &bytes)) << text;
    EXPECT_EQ(bytes, expected) << text;
  }
}

TEST(ParseBytes, RefusesWhatIsMalformed) {
  std::int64_t bytes = 7;
  for (const char* wrong : {"", "K", "-1", "1.2.3M", "5X", "5KiBs", "5 bytes", "1e30", "99999999999999T", "0x10"}) {
    EXPECT_FALSE(parse_bytes(wrong, &bytes)) << wrong;
    EXPECT_EQ(bytes, 7) << wrong;
  }
}

TEST(ParseDuration, TakesSecondsWithoutAUnit) {
  double seconds = 0;
  const std::pair<const char*, double> cases[] = {{"30", 30},     {"30s", 30},  {"500ms", 0.5}, {"2m", 120},
                                                  {"2 min", 120}, {"1h", 3600}, {"1.5h", 5400}};
  for (const auto& [text, expected] : cases) {
    EXPECT_TRUE(parse_duration(text, &seconds)) << text;
    EXPECT_DOUBLE_EQ(seconds, expected) << text;
  }
}

TEST(ParseDuration, RefusesWhatIsMalformed) {
  double seconds = 7;
  for (const char* wrong : {"", "s", "-1s", "5 days", "1h30m", "1..5"}) {
    EXPECT_FALSE(parse_duration(wrong, &seconds)) << wrong;
    EXPECT_EQ(seconds, 7) << wrong;
  }
}

}  // namespace
}  // namespace troika::base
