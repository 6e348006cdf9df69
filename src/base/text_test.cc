#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace troika::base {
namespace {

using Strings = std::vector<std::string>;

TEST(Split, KeepsEmptyPartsButNothingOfAnEmptyText) {
  EXPECT_EQ(split("a,,b", ','), (Strings{"a", "", "b"}));
  EXPECT_EQ(split(",", ','), (Strings{"", ""}));
  EXPECT_EQ(split("a,", ','), (Strings{"a", ""}));
  EXPECT_EQ(split("abc", ','), Strings{"abc"});
  EXPECT_EQ(split("", ','), Strings{});
}

TEST(Join, IsTheInverseOfSplit) {
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(split(join({"x", "", "y"}, "|"), '|'), (Strings{"x", "", "y"}));
}

TEST(Trim, RemovesWhiteSpaceAtBothEndsOnly) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \t\n"), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("x"), "x");
}

TEST(Nearest, FindsTheMisspelledName) {
  const Strings names{"micro_batch_size", "global_batch_size", "seq_len", "steps"};
  EXPECT_EQ(nearest("micro_batchsize", names), "micro_batch_size");
  EXPECT_EQ(nearest("step", names), "steps");
  EXPECT_EQ(nearest("sqe_len", names), "seq_len");
}

TEST(Nearest, GivesNothingWhenAllAreFar) {
  EXPECT_EQ(nearest("temperature", {"seq_len", "steps"}), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Nearest, TakesTheFirstOfEquallyNearNames) {
  EXPECT_EQ(nearest("cat", {"hat", "bat"}), "hat");
  EXPECT_EQ(nearest("cat", {"bat", "hat"}), "bat");
}

TEST(ParseInt, TakesTheWholeTextOrNothing) {
  std::int64_t value = 7;
  EXPECT_TRUE(parse_int("-42", &value));
  EXPECT_EQ(value, -42);
  for (const char* wrong : {"", " 1", "1 ", "1.0", "1e3", "0x10", "+1", "one", "9223372036854775808"}) {
    EXPECT_FALSE(parse_int(wrong, &value)) << wrong;
    EXPECT_EQ(value, -42) << wrong;
  }
  EXPECT_TRUE(parse_int("9223372036854775807", &value));
  EXPECT_EQ(value, std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(parse_int("-9223372036854775808", &value));
  EXPECT_EQ(value, std::numeric_limits<std::int64_t>::min());
}

TEST(ParseInt, ReadsOnlyTheTextItWasGiven) {
  std::int64_t value = 0;
  EXPECT_TRUE(parse_int(std::string_view("12345").substr(0, 3), &value));
  EXPECT_EQ(value, 123);
}

TEST(ParseDouble, TakesTheWholeFiniteTextOrNothing) {
  double value = 7;
  EXPECT_TRUE(parse_double("3e-4", &value));
  EXPECT_EQ(value, 3e-4);
  EXPECT_TRUE(parse_double("-0.5", &value));
  EXPECT_EQ(value, -0.5);
  for (const char* wrong : {"", "1,5", "1.5x", "inf", "nan", "1e999", " 1", "."}) {
    EXPECT_FALSE(parse_double(wrong, &value)) << wrong;
    EXPECT_EQ(value, -0.5) << wrong;
  }
}

}  // namespace
}  // namespace troika::base
