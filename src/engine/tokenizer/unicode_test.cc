#include "tokenizer/unicode.h"

#include <gmock/gmock.h>
#include <utf8proc.h>

#include <cstdlib>

#include "base/random.h"

namespace troika::tokenizer {
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

std::string nfc(const Nfc& normalizer, const std::string& text) {
  std::string storage;
  return std::string(normalizer.normalize(text, &storage));
}

Nfc normalizer() { return Nfc(std::make_shared<const UnicodeTable>()); }

std::string by_utf8proc(const std::string& text) {
  utf8proc_uint8_t* made = utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()));
  const std::string result = reinterpret_cast<const char*>(made);
  std::free(made);
  return result;
}

TEST(Nfc, ComposesAndReorders) {
  const Nfc form = normalizer();
  EXPECT_EQ(nfc(form, "Cafe\u0301"), "Caf\u00E9");
  EXPECT_EQ(nfc(form, "a\u0301\u0323"), "\u1EA1\u0301");
  EXPECT_EQ(nfc(form, "\u212B\u2126\u0958"), "\u00C5\u03A9\u0915\u093C");
  EXPECT_EQ(nfc(form, "\u1112\u1161\u11AB \uD558\u11AB"), "\uD55C \uD55C");
  EXPECT_EQ(nfc(form, "\u0301x"), "\u0301x");
  EXPECT_EQ(nfc(form, "\n\u0338<\u0338"), "\n\u0338\u226E");
}

TEST(Nfc, ReturnsTextThatIsInTheFormAsItIs) {
  const Nfc form = normalizer();
  std::string storage;
  for (const std::string text : {"", "plain", "Caf\u00E9 \u65E5\u672C \uD55C\uAD6D"}) {
    EXPECT_EQ(form.normalize(text, &storage).data(), text.data());
  }
}

TEST(Nfc, KeepsInvalidBytesAndComposesNothingAcrossThem) {
  const Nfc form = normalizer();
  EXPECT_EQ(nfc(form, "e\xFF\u0301 e\u0301\xCC"), "e\xFF\u0301 \u00E9\xCC");
  EXPECT_EQ(nfc(form, "\xCC\x81\xCC"), "\xCC\x81\xCC");
}

TEST(Nfc, AgreesWithUtf8procOnEveryCharacterAndOnRandomText) {
  const UnicodeTable table;
  const Nfc form = normalizer();
  std::vector<std::uint32_t> changing = {'a', 'e', 'o', ' ', '<', 0x41, 0xAC00, 0x1100, 0x1112, 0x9C7, 0xBC6, 0x915};
  for (std::uint32_t c = 1; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    if (!table.unsettled(c)) continue;
    changing.push_back(c);
    std::string text = "x";
    append_utf8(c, &text);
    ASSERT_EQ(nfc(form, text), by_utf8proc(text)) << std::hex << c;
  }
  EXPECT_GT(changing.size(), 1500u);
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const base::Philox random(seed, "marks");
    std::string text;
    for (std::uint64_t i = 0; i < 12; ++i) append_utf8(changing[random.bits(i) % changing.size()], &text);
    ASSERT_EQ(nfc(form, text), by_utf8proc(text)) << testing::PrintToString(text);
  }
}

TEST(Nfc, TakesLongRunsOfMarks) {
  std::string text = "e";
  for (int i = 0; i < 200000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  const std::string composed = nfc(normalizer(), text);
  EXPECT_EQ(composed.substr(0, 5), "\u1EB9\u0323");
  EXPECT_EQ(nfc(normalizer(), composed), composed);
}

}  // namespace
}  // namespace troika::tokenizer
