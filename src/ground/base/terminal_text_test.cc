#include "base/terminal_text.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/text.h"

namespace troika::base {
namespace {

TEST(IsPrintable, HoldsForWhatATerminalShowsAndNothingElse) {
  for (const char* shown :
       {"a", "\n", "\t", "~", "\u00A0", "\u00E9", "\u4E16", "\U0001F600", "\u200D", "\u202F", "\u2065"})
    EXPECT_TRUE(is_printable(shown)) << shown;
  for (const char* steers : {"\x1b", "\r", "\b", "\x7f", "\xc2\x80", "\xc2\x9b", "\xc2\x9f", "\u061C", "\u200E",
                             "\u200F", "\u2028", "\u2029", "\u202A", "\u202E", "\u2066", "\u2069"})
    EXPECT_FALSE(is_printable(steers)) << printable(steers, 10);
  EXPECT_EQ(printable("a\u202Eb\u2066c\u2028d", 100), "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c\\xe2\\x80\\xa8d");
}

// What Python's bytes.decode(errors="replace") gives.
TEST(ValidUtf8, ReplacesEachLongestPieceThatIsNoCharacter) {
  EXPECT_EQ(valid_utf8("caf\xC3\xA9 \xF0\x9F\x98\x80"), "caf\u00E9 \U0001F600");
  EXPECT_EQ(valid_utf8("a\xE4\xB8z"), "a\uFFFDz");
  EXPECT_EQ(valid_utf8("\xE4\xB8"), "\uFFFD");
  EXPECT_EQ(valid_utf8("\xF0\x9F\x98\xF0\x9F\x98\x80"), "\uFFFD\U0001F600");
  EXPECT_EQ(valid_utf8("\xFF\xFE\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(valid_utf8("\xC0\x80"), "\uFFFD\uFFFD");
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(valid_utf8("\xE0\x80\x80\xF4\x90"), "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(valid_utf8("\xC3\xC3\xA9"), "\uFFFD\u00E9");
}

TEST(UnfinishedBytes, AreThoseThatLaterOnesMayEnd) {
  for (const char* none : {"", "abc", "\u4E16", "\xF0\x9F\x98\x80", "\xFF", "\xE4z", "\xED\xA0"})
    EXPECT_EQ(unfinished_bytes(none), 0u) << printable(none, 10);
  EXPECT_EQ(unfinished_bytes("a\xE4"), 1u);
  EXPECT_EQ(unfinished_bytes("a\xE4\xB8"), 2u);
  EXPECT_EQ(unfinished_bytes("\xF0\x9F\x98"), 3u);
}

TEST(TerminalText, KeepsNoControlCharacterButNewlineAndTab) {
  EXPECT_EQ(terminal_text("a\tb\n\x1b]52;c;aGk=\x07\r\xC2\x9B\xE4z"),
            "a\tb\n\uFFFD]52;c;aGk=\uFFFD\uFFFD\uFFFD\uFFFDz");
}

TEST(PrintableJson, HoldsTheSameText) {
  EXPECT_EQ(printable_json("{\"a\": \"\xC2\x9B\x7f\u202E\u4E16\"}\n"), "{\"a\": \"\\u009b\\u007f\\u202e\u4E16\"}\n");
}

std::string read_what_a_terminal_got(const char* text) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_TRUE(master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0);
  std::FILE* const terminal = ::fopen(::ptsname(master), "w");
  termios as_it_is{};
  EXPECT_EQ(::tcgetattr(::fileno(terminal), &as_it_is), 0);
  ::cfmakeraw(&as_it_is);
  ::tcsetattr(::fileno(terminal), TCSANOW, &as_it_is);
  put(text, terminal);
  std::fflush(terminal);
  char got[256] = {};
  const ssize_t count = ::read(master, got, sizeof got - 1);
  std::fclose(terminal);
  ::close(master);
  return {got, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

TEST(Put, LetsNoTextSteerATerminalAndChangesNoFile) {
  EXPECT_EQ(read_what_a_terminal_got("ok \x1b]0;title\x07\n"), "ok \uFFFD]0;title\uFFFD\n");
  std::FILE* const file = std::tmpfile();
  put("\x1b[1m\xE4", file);
  std::rewind(file);
  char got[16] = {};
  EXPECT_EQ(std::fread(got, 1, sizeof got, file), 5u);
  EXPECT_STREQ(got, "\x1b[1m\xE4");
  std::fclose(file);
}

}  // namespace
}  // namespace troika::base
