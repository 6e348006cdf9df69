#include "tokenizer/pretokenizer.h"

#include <gmock/gmock.h>

#include <cctype>

#include "base/error.h"
#include "base/text_files_test_support.h"

namespace troika::tokenizer {
namespace {
using testing::ElementsAre;

std::vector<std::string> cut_by(const PreTokenizer& pretokenizer, const std::string& text) {
  PreTokenizer::Scratch scratch;
  std::vector<std::string_view> pieces;
  pretokenizer.split(text, &scratch, &pieces);
  return {pieces.begin(), pieces.end()};
}

std::vector<std::string> pieces_of(const std::string& text, const std::vector<std::string>& patterns) {
  return cut_by(PreTokenizer(patterns), text);
}

TEST(PreTokenizer, CutsEnglishAsGpt2Does) {
  EXPECT_THAT(pieces_of("Hello world, it's 2023!  OK\n\n  x", {gpt2_pattern}),
              ElementsAre("Hello", " world", ",", " it", "'s", " 2023", "!", " ", " OK", "\n\n ", " x"));
}

TEST(PreTokenizer, CutsCodeAsQwenDoes) {
  EXPECT_THAT(pieces_of("int main() {\n\treturn 42;\n}\n", {qwen2_pattern}),
              ElementsAre("int", " main", "()", " {\n", "\treturn", " ", "4", "2", ";\n", "}\n"));
  EXPECT_THAT(pieces_of("DON'T a'Re  \n\n  b", {qwen2_pattern}),
              ElementsAre("DON", "'T", " a", "'Re", "  \n\n", " ", " b"));
  EXPECT_THAT(pieces_of("12345", {llama3_pattern}), ElementsAre("123", "45"));
}

TEST(PreTokenizer, KnowsLettersAndDigitsOfAllScripts) {
  EXPECT_THAT(pieces_of("naïve 日本語 ١٢", {qwen2_pattern}), ElementsAre("naïve", " 日本語", " ", "١", "٢"));
  EXPECT_THAT(pieces_of("a\xC2\xA0"
                        "b\xE3\x80\x80",
                        {gpt2_pattern}),
              ElementsAre("a", "\xC2\xA0", "b", "\xE3\x80\x80"));
}

TEST(PreTokenizer, MakesEachInvalidByteAPieceOfItsOwn) {
  EXPECT_THAT(pieces_of("ab\xFF\xFE"
                        "cd\xE3\x81",
                        {qwen2_pattern}),
              ElementsAre("ab", "\xFF", "\xFE", "cd", "\xE3", "\x81"));
}

TEST(PreTokenizer, KeepsTextBetweenMatchesAndAppliesPatternsInTurn) {
  EXPECT_THAT(pieces_of("ab12cd", {"[0-9]+"}), ElementsAre("ab", "12", "cd"));
  EXPECT_THAT(pieces_of("ab12cd", {"[0-9]+", "[a-z0-9]"}), ElementsAre("a", "b", "1", "2", "c", "d"));
  EXPECT_THAT(pieces_of("a b", {}), ElementsAre("a b"));
}

TEST(PreTokenizer, SplitsVeryLongRunsWithoutFailing) {
  const std::string spaces(3000000, ' '), letters(3000000, 'a');
  EXPECT_EQ(pieces_of(spaces, {qwen2_pattern}).size(), 1u);
  EXPECT_EQ(pieces_of(letters + spaces + letters, {qwen2_pattern}).size(), 3u);
  EXPECT_EQ(pieces_of(letters + spaces + letters, {std::string("(?:") + qwen2_pattern + ")"}).size(), 3u);  // by PCRE2
}

TEST(PreTokenizer, GivesAllPiecesOfTextWithMoreThanOneBatchOfThem) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += i % 7 == 0 ? "a 1" : "b\xFF";
  for (const std::vector<std::string>& patterns : {std::vector<std::string>{qwen2_pattern}, {qwen2_pattern, "[a-z]"}}) {
    std::string all;
    for (const std::string& piece : pieces_of(text, patterns)) all += piece;
    EXPECT_EQ(all, text);
  }
}

TEST(PreTokenizer, RefusesPatternsThatMakeNoSense) {
  EXPECT_THAT(base::message_of<base::DataError>([] { PreTokenizer({"(a"}); }),
              testing::HasSubstr("'(a' has a syntax error"));
  EXPECT_THAT(base::message_of<base::DataError>([] { PreTokenizer({"a*"}); }), testing::HasSubstr("can match the empty string"));
}

// The Qwen pattern written out by hand for ASCII, alternative by alternative.
std::size_t match_by_hand(const std::string& s, std::size_t i) {
  const auto at = [&](std::size_t k) { return k < s.size() ? s[k] : '\0'; };
  const auto letter = [&](std::size_t k) { return k < s.size() && std::isalpha(at(k)) != 0; };
  const auto digit = [&](std::size_t k) { return k < s.size() && std::isdigit(at(k)) != 0; };
  const auto space = [&](std::size_t k) { return k < s.size() && std::isspace(at(k)) != 0; };
  const auto line = [&](std::size_t k) { return k < s.size() && (at(k) == '\r' || at(k) == '\n'); };
  const auto other = [&](std::size_t k) { return k < s.size() && !letter(k) && !digit(k) && !space(k); };
  if (at(i) == '\'') {
    const auto low = [&](std::size_t k) { return std::tolower(at(k)); };
    const std::string two{static_cast<char>(low(i + 1)), static_cast<char>(low(i + 2))};
    if (two[0] == 's' || two[0] == 't') return i + 2;
    if (two == "re" || two == "ve") return i + 3;
    if (two[0] == 'm') return i + 2;
    if (two == "ll") return i + 3;
    if (two[0] == 'd') return i + 2;
  }
  std::size_t k = !letter(i) && !digit(i) && !line(i) ? i + 1 : i;
  if (letter(k)) {
    while (letter(k)) ++k;
    return k;
  }
  if (digit(i)) return i + 1;
  k = at(i) == ' ' ? i + 1 : i;
  if (other(k)) {
    while (other(k)) ++k;
    while (line(k)) ++k;
    return k;
  }
  std::size_t end = i, behind_line = i;
  for (; space(end); ++end) behind_line = line(end) ? end + 1 : behind_line;
  if (behind_line > i) return behind_line;
  return end == s.size() || end == i + 1 ? end : end - 1;
}

TEST(PreTokenizer, AgreesWithThePatternWrittenOutByHand) {
  const PreTokenizer pretokenizer({qwen2_pattern});
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = base::random_text("   \n\n\r\tabSrevlTd''0 9.;{\v", 400, seed);
    std::vector<std::string> expected;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = match_by_hand(text, at);
      expected.push_back(text.substr(at, end - at));
      at = end;
    }
    ASSERT_EQ(cut_by(pretokenizer, text), expected) << testing::PrintToString(text);
  }
}

TEST(PreTokenizer, CutsOnlyWherePiecesStayTheSame) {
  for (const char* pattern : {gpt2_pattern, qwen2_pattern, llama3_pattern}) {
    const PreTokenizer pretokenizer({pattern});
    std::size_t cuts = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const std::string text =
          seed % 2 == 0 ? base::source_like_text(30, seed) : base::random_text(" \n\r\tab'sS1.;\xFF", 300, seed);
      const auto whole = cut_by(pretokenizer, text);
      for (std::size_t from = 1; from < text.size();) {
        const std::size_t at = pretokenizer.next_cut(text, from);
        ASSERT_GE(at, from);
        if (at == text.size()) break;
        auto parts = cut_by(pretokenizer, text.substr(0, at));
        const auto rest = cut_by(pretokenizer, text.substr(at));
        parts.insert(parts.end(), rest.begin(), rest.end());
        ASSERT_EQ(parts, whole) << pattern << " at " << at << " of " << testing::PrintToString(text);
        ++cuts;
        from = at + 1;
      }
    }
    EXPECT_GT(cuts, 100u);
  }
}

TEST(PreTokenizer, DoesNotCutForPatternsItDoesNotKnow) {
  const PreTokenizer pretokenizer({"[a-z]+\\n[a-z]+"});
  EXPECT_EQ(pretokenizer.next_cut("abc\nabc\nabc", 1), 11u);
}

}  // namespace
}  // namespace troika::tokenizer
