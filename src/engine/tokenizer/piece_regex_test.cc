#include "tokenizer/piece_regex.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text_files_test_support.h"

namespace troika::tokenizer {
namespace {
using testing::ElementsAre;

std::vector<std::string> cut(const std::string& text, const std::string& pattern) {
  PieceRegex::Scratch scratch;
  std::vector<std::string> pieces;
  PieceRegex(pattern).cut(text, &scratch,
                          [&](std::string_view piece, PieceRegex::Part) { pieces.emplace_back(piece); });
  return pieces;
}

TEST(PieceRegex, MeansBySpaceAndLineWhatOnigurumaMeans) {
  EXPECT_THAT(cut("a\u0085b\u180E", "\\s"), ElementsAre("a", "\u0085", "b\u180E"));
  EXPECT_THAT(cut("a b\u3000", "[^\\s]+"), ElementsAre("a", " ", "b", "\u3000"));
  EXPECT_THAT(cut("a  \nb ", " +$"), ElementsAre("a", "  ", "\nb", " "));
  EXPECT_THAT(cut("a\\sb", "\\\\s"), ElementsAre("a", "\\s", "b"));
}

TEST(PieceRegex, MeansByWordWhatOnigurumaMeans) {
  const std::string letters =
      "a\u0301_1\u00B2\u2167\u24B6\u203F";  // a mark, a superscript, a numeral, a circled letter
  for (const char* pattern : {"\\w+", "[\\w]+", "[\\w.]+", "[^-\\s]+", "[]\\w]+"}) {
    EXPECT_THAT(cut(letters + "-" + letters, pattern), ElementsAre(letters, "-", letters)) << pattern;
  }
  EXPECT_THAT(cut(letters + "-\u2074 " + letters, "\\W+"), ElementsAre(letters, "-\u2074 ", letters));
  EXPECT_THAT(cut("a\\w", "\\\\w"), ElementsAre("a", "\\w"));
  EXPECT_THAT(cut("a]b1", "(?#[)[]b]+(?i:B)?|[^]a]\\p{N}{1,2}"), ElementsAre("a", "]b", "1"));
}

TEST(PieceRegex, NamesWhatOnigurumaReadsOtherwise) {
  for (const auto& [pattern, part] : std::vector<std::pair<std::string, std::string>>{{"a\\b", "\\b"},
                                                                                      {"a\\B", "\\B"},
                                                                                      {"\\h+", "\\h"},
                                                                                      {"[\\H]", "\\H"},
                                                                                      {"\\v", "\\v"},
                                                                                      {"\\Qa.\\E", "\\Q"},
                                                                                      {"[^a\\W]", "\\W in a class"},
                                                                                      {"[a[b]]", "[ in a class"},
                                                                                      {"[[:alpha:]]", "[ in a class"},
                                                                                      {"[a&&b]", "&& in a class"},
                                                                                      {"(?m)a.", "(?m)"},
                                                                                      {"(?i-m:a.)", "(?m)"},
                                                                                      {"(?x) a", "(?x)"},
                                                                                      {"\\d{2}+", "{n}+"},
                                                                                      {"a{,2}b", "{,n}"}}) {
    EXPECT_THAT(base::message_of<base::DataError>([&, &p = pattern] { PieceRegex{p}; }),
                testing::AllOf(testing::HasSubstr("'" + pattern + "' uses " + part), testing::HasSubstr("Oniguruma")));
  }
}

TEST(PieceRegex, NamesThePatternThatTakesTooManySteps) {
  const std::string text = std::string(60, 'a') + "!b";
  for (const char* pattern : {"(a+)+b", "(?:(?:a|aa)+)+b", "(?:a|a(?R)?)+b"}) {
    EXPECT_THAT(base::message_of<base::DataError>([&] { cut(text, pattern); }), testing::HasSubstr(pattern));
  }
}

TEST(PieceRegex, LimitsTheStepsOfAllMatchesOfATextTogether) {
  const PieceRegex slow("(.*a){12}|.");  // thousands of steps at each place
  PieceRegex::Scratch scratch;
  const std::string line = std::string(40, 'b') + std::string(11, 'a') + "\n";
  std::string text;
  for (int i = 0; i < 2000; ++i) text += line;
  std::int64_t pieces = 0;
  const auto cut_all = [&] { slow.cut(text, &scratch, [&](std::string_view, PieceRegex::Part) { ++pieces; }); };
  scratch.begin_text(text.size());
  EXPECT_THAT(base::message_of<base::DataError>(cut_all),
              testing::AllOf(testing::HasSubstr("'(.*a){12}|.'"), testing::HasSubstr("steps"),
                             testing::HasSubstr(std::to_string(text.size()) + " bytes")));
  EXPECT_GT(pieces, 0);
  pieces = 0;
  text = line;
  scratch.begin_text(text.size());
  cut_all();
  EXPECT_EQ(pieces, 52);
}

TEST(PieceRegex, RefusesWhatWouldCutCharactersOrTakeTooMuchMemory) {
  for (const std::string& pattern : {std::string("\\C"), std::string("("), std::string("(((a{9999}){9999}){9999})"),
                                     std::string(70000, 'a'), std::string("\\p{Nonsense}"), std::string("[z-a]"),
                                     std::string("a|"), std::string("(?<=a*)b"), std::string("\xFF")}) {
    EXPECT_NE(base::message_of<base::DataError>([&] { PieceRegex{pattern}; }), "") << pattern.substr(0, 30);
  }
}

}  // namespace
}  // namespace troika::tokenizer
