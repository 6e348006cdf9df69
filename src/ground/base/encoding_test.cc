#include "base/terminal_text.h"

#include <gtest/gtest.h>

#include <string>

namespace troika::base {
namespace {

std::string utf16(const std::string& text, bool big_endian) {
  std::string wide;
  for (const char c : text) wide += big_endian ? std::string{'\0', c} : std::string{c, '\0'};
  return wide;
}

std::string utf32(const std::string& text, bool big_endian) {
  std::string wide;
  for (const char c : text) wide += big_endian ? std::string{'\0', '\0', '\0', c} : std::string{c, '\0', '\0', '\0'};
  return wide;
}

TEST(Encoding, IsToldByMarksAndZeros) {
  const std::string text = "{\"text\": \"some words\"}\n";
  EXPECT_EQ(guessed_encoding("\xFF\xFE" + utf16(text, false)), "UTF-16");
  EXPECT_EQ(guessed_encoding("\xFE\xFF" + utf16(text, true)), "UTF-16");
  EXPECT_EQ(guessed_encoding(std::string("\xFF\xFE\0\0", 4) + utf32(text, false)), "UTF-32");
  EXPECT_EQ(guessed_encoding(utf16(text, false)), "UTF-16LE");
  EXPECT_EQ(guessed_encoding(utf16(text, true)), "UTF-16BE");
  EXPECT_EQ(guessed_encoding(utf32(text, false)), "UTF-32LE");
  EXPECT_EQ(guessed_encoding(utf32(text, true)), "UTF-32BE");
  EXPECT_EQ(guessed_encoding(std::string("\x7F"
                                         "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3E\0",
                                         20)),
            "");
}

TEST(Encoding, IsNotToldOfOtherDataWithZeros) {
  EXPECT_EQ(guessed_encoding(std::string("PNG\0\1\2\3\0", 8)), "");
  EXPECT_EQ(guessed_encoding(std::string("\1\0\2\0\3\0\4\0", 8)), "");
  EXPECT_EQ(guessed_encoding(utf16("a\tb\r\n", false)), "UTF-16LE");
}

TEST(Encoding, OfBytesIsGuessedFromTheirCompany) {
  EXPECT_EQ(guessed_encoding("caf\xE9 au lait, d\xE9j\xE0 vu"), "LATIN1");
  EXPECT_EQ(guessed_encoding("\x93quoted\x94 caf\xE9"), "WINDOWS-1252");
  EXPECT_EQ(guessed_encoding("\xC4\xE3\xBA\xC3\xA3\xAC\xCA\xC0\xBD\xE7"), "GB18030");  // 你好，世界
  EXPECT_EQ(guessed_encoding("\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0"), "");           // Cyrillic
  EXPECT_EQ(guessed_encoding("déjà vu"), "");
  EXPECT_EQ(guessed_encoding("déjà vu \xE9"), "");  // damage
}

TEST(Encoding, FindsTheFirstByteThatIsNoUtf8) {
  EXPECT_EQ(first_not_utf8("déjà"), std::string_view::npos);
  EXPECT_EQ(first_not_utf8("a\xE9 b"), 1);
  EXPECT_EQ(first_not_utf8("你\xE4\xBD"), std::string_view::npos);  // cut off
  EXPECT_EQ(first_not_utf8("\xE4\xBD!"), 0);
  EXPECT_EQ(first_not_utf8("\xC0\xAF"), 0);
}

}  // namespace
}  // namespace troika::base
