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

TEST(IsUtf8, HoldsForWholeCharactersOnly) {
  for (const char* text : {"", "a\x1b\n", "\u00e9\u4e16\U0001F600", "\u0085\ud7ff\ue000\U0010FFFF"})
    EXPECT_TRUE(is_utf8(text));
  for (const char* text : {"\xe9", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                           "\xe4\xb8"
                           "a",
                           "\x80"})
    EXPECT_FALSE(is_utf8(text));
}

TEST(Utf8CharacterBytes, CountsTheFirstCharacterOnly) {
  EXPECT_EQ(utf8_character_bytes(""), 0u);
  EXPECT_EQ(utf8_character_bytes("ab"), 1u);
  EXPECT_EQ(utf8_character_bytes("\u4e16\xff"), 3u);
  EXPECT_EQ(utf8_character_bytes("\xff"), 0u);
}

TEST(Printable, LeavesTextOfAnyLanguageAsItIs) {
  for (const char* text : {"", "a b\nc", "\u00e9\u4e16\u754c \U0001F600", "\u00a0\uffff\U0010FFFF"})
    EXPECT_EQ(printable(text, 100), text);
}

TEST(Printable, SpellsControlCharactersAndWhatIsNotUtf8) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\t\x7f", 100), "a\\x1b[2Jb\\x0d\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("\0x", 2), 100), "\\x00x");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m",
                      100),
            "\\xc2\\x9b31m");  // a control character too
  EXPECT_EQ(printable("\xff"
                      "a\xc3",
                      100),
            "\\xffa\\xc3");
  EXPECT_EQ(printable("\xed\xa0\x80", 100), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xc0\x80 \xf4\x90\x80\x80", 100),
            "\\xc0\\x80 \\xf4\\x90\\x80\\x80");  // overlong; above U+10FFFF
  EXPECT_EQ(printable("\xe4\xb8", 100), "\\xe4\\xb8");
}

TEST(Printable, CutsBetweenCharactersAndSaysHowMuch) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 4), "abcd ... (+2 B)");
  EXPECT_EQ(printable("\u4e16\u754c!", 4), "\u4e16\u754c ... (+1 B)");
}

TEST(Trim, RemovesWhiteSpaceAtBothEndsOnly) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \t\n"), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("x"), "x");
}

TEST(Nearest, IsNothingOfAVeryLongName) { EXPECT_EQ(nearest(std::string(50 << 20, 'x'), {"steps", "x"}), ""); }

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
