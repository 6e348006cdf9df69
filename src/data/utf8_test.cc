#include "data/utf8.h"

#include <gmock/gmock.h>

namespace troika::data {
namespace {

TEST(Utf8, FindsTheLongestValidPrefix) {
  const std::string valid = "plain ASCII of more than eight bytes, é, 日, 😀";
  EXPECT_EQ(valid_utf8_prefix(valid), valid.size());
  EXPECT_EQ(valid_utf8_prefix(""), 0u);
  EXPECT_EQ(valid_utf8_prefix("ab\xFFz"), 2u);
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndWhatIsAboveTheLastCodePoint) {
  for (const char* bad : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xED\xA0\x80",
                          "\xF4\x90\x80\x80", "\xF5", "\x80", "\xC3", "\xE3\x81", "\xF0\x9F\x98", "\xC3\x28"}) {
    EXPECT_EQ(valid_utf8_prefix(bad), 0u) << testing::PrintToString(std::string(bad));
  }
}

TEST(Utf8, ReadsBackEveryCodePointItWrites) {
  for (std::uint32_t point = 0; point < 0x110000; point += point < 0x1000 ? 1 : 97) {
    if (point >= 0xD800 && point < 0xE000) continue;
    std::string text;
    append_utf8(point, &text);
    std::size_t at = 0;
    ASSERT_EQ(valid_utf8_prefix(text), text.size());
    ASSERT_EQ(next_code_point(text, &at), point);
    ASSERT_EQ(at, text.size());
  }
}

}  // namespace
}  // namespace troika::data
