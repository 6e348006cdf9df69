#include "tokenizer/known_patterns.h"

#include <gmock/gmock.h>

#include <set>

#include "base/random.h"
#include "tokenizer/piece_regex.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

std::vector<std::uint32_t> all_characters() {
  std::vector<std::uint32_t> all;
  for (std::uint32_t c = 2; c < 0x32400; ++c) {
    if (c < 0xD800 || c > 0xDFFF) all.push_back(c);
  }
  for (std::uint32_t c = 0xE0000; c < 0xE0200; ++c) all.push_back(c);
  return all;
}

// The characters that the expression matches: pieces without the U+0001 that is put after each.
std::set<std::uint32_t> matched(const std::string& expression) {
  std::string text;
  for (const std::uint32_t c : all_characters()) {
    append_utf8(c, &text);
    text += "\x01";
  }
  std::set<std::uint32_t> found;
  PieceRegex::Scratch scratch;
  PieceRegex(expression).cut(text, &scratch, [&](std::string_view piece, PieceRegex::Part) {
    std::size_t at = 0;
    if (piece.find('\x01') == std::string_view::npos) found.insert(next_code_point(piece, &at));
  });
  return found;
}

TEST(UnicodeTable, AgreesWithPcre2OnEveryCharacterThatPcre2Knows) {
  const UnicodeTable table;
  const auto letters = matched("\\p{L}"), numbers = matched("\\p{N}"), spaces = matched("\\s"),
             unknown = matched("\\p{Cn}");
  for (const std::uint32_t c : all_characters()) {
    if (unknown.count(c) != 0) continue;
    ASSERT_EQ(table.kind(c) == CharKind::letter, letters.count(c) != 0) << std::hex << c;
    ASSERT_EQ(table.kind(c) == CharKind::number, numbers.count(c) != 0) << std::hex << c;
    ASSERT_EQ(table.is_space(c), spaces.count(c) != 0) << std::hex << c;
  }
  EXPECT_GT(letters.size(), 100000u);
  EXPECT_EQ(spaces.size(), 25u);
}

Pieces cut_by_hand(const PieceMatcher& matcher, const std::string& text, std::size_t most = 3) {
  Pieces pieces;
  PieceRun some(text.data(), most);
  for (std::size_t at = 0; at < text.size(); some.clear()) {
    at = matcher.cut(text, at, &some);
    for (std::size_t i = 0; i < some.size(); ++i) pieces.emplace_back(some[i]);
  }
  return pieces;
}

Pieces cut_by_regex(const PieceRegex& regex, PieceRegex::Scratch* scratch, const std::string& text) {
  Pieces pieces;
  regex.cut(text, scratch, [&](std::string_view piece, PieceRegex::Part) { pieces.emplace_back(piece); });
  return pieces;
}

// Mostly what the patterns name, else any character.
std::string random_characters(std::uint64_t seed, const std::vector<std::uint32_t>& others) {
  static const std::vector<std::uint32_t> named = {
      ' ',    ' ',    ' ',    '\n',   '\r', '\t',  '\'',  '\'', 's', 'S',  0x17F,  't',    'r',    'E',
      'v',    'e',    'l',    'L',    'm',  'd',   'a',   '1',  '2', '.',  '!',    0xA0,   0x3000, 0x85,
      0x2028, 0x180E, 0xFEFF, 0x4E2D, 0xE9, 0x301, 0x660, 0xBD, 0,   0x7F, 0x200D, 0x2167, 0x1F600};
  const base::Philox random(seed, "random characters");
  std::string text;
  for (std::uint64_t i = 0; i < 120; ++i) {
    const bool any = random.bits(2 * i) % 5 == 0;
    const std::vector<std::uint32_t>& from = any ? others : named;
    append_utf8(from[random.bits(2 * i + 1) % from.size()], &text);
  }
  return text;
}

TEST(PieceMatcher, AgreesWithItsRegularExpressionOnRandomText) {
  const auto table = std::make_shared<const UnicodeTable>();
  const auto unknown = matched("\\p{Cn}");
  std::vector<std::uint32_t> known;
  for (const std::uint32_t c : all_characters()) {
    if (unknown.count(c) == 0) known.push_back(c);
  }
  PieceRegex::Scratch scratch;
  for (const char* pattern : {gpt2_pattern, qwen2_pattern, llama3_pattern}) {
    const PieceMatcher matcher(known_pattern(pattern), table);
    const PieceRegex regex(pattern);
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      const std::string text = random_characters(seed, known);
      ASSERT_EQ(cut_by_hand(matcher, text), cut_by_regex(regex, &scratch, text)) << pattern << " " << seed;
    }
  }
}

// ASCII text with a few other characters, of which the matcher takes 64 at a time.
TEST(PieceMatcher, AgreesWithItsRegularExpressionOnLongText) {
  const auto table = std::make_shared<const UnicodeTable>();
  const std::vector<std::string> alphabets = {" \n\t\r", " 's\n.a", "0123456789 a",
                                              "ab \n(){};.'tlLvVeErRdDmM1\t\r_=/*"};
  const std::vector<std::string> others = {"\u00e9", "\u4e2d", "\u00a0", "\u3000",
                                           "\u0663", "\u2014", "\u017f", "\u2028"};
  PieceRegex::Scratch scratch;
  for (const char* pattern : {gpt2_pattern, qwen2_pattern, llama3_pattern}) {
    const PieceMatcher matcher(known_pattern(pattern), table);
    const PieceRegex regex(pattern);
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
      const base::Philox random(seed, "long text");
      const std::string& alphabet = alphabets[seed % alphabets.size()];
      const std::uint64_t size = random.bits(0) % 3000, every = 1 + random.bits(1) % 400;
      std::string text;
      for (std::uint64_t i = 2; text.size() < size; i += 3) {
        const std::uint64_t run = random.bits(i) % 50 == 0 ? random.bits(i + 1) % 200 : 1;
        text.append(run, alphabet[random.bits(i + 2) % alphabet.size()]);
        if (seed % 3 != 0 && random.bits(i) / 64 % every == 0) text += others[random.bits(i + 1) % others.size()];
      }
      const Pieces pieces = cut_by_hand(matcher, text, 1 + seed * 7 % 900);
      ASSERT_EQ(pieces, cut_by_regex(regex, &scratch, text)) << pattern << " " << seed;
    }
  }
}

TEST(PieceMatcher, TakesTheLongSForAnSInAnyCase) {
  const auto table = std::make_shared<const UnicodeTable>();
  const PieceMatcher qwen(KnownPattern::qwen2, table), gpt2(KnownPattern::gpt2, table);
  EXPECT_THAT(cut_by_hand(qwen, "it'\u017Fx"), testing::ElementsAre("it", "'\u017F", "x"));
  EXPECT_THAT(cut_by_hand(gpt2, "it'\u017Fx"), testing::ElementsAre("it", "'", "\u017Fx"));
}

}  // namespace
}  // namespace troika::tokenizer
