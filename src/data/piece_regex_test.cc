#include "data/piece_regex.h"

#include <gmock/gmock.h>

#include <vector>

#include "base/error.h"
#include "data/data_test_support.h"

namespace troika::data {
namespace {
using testing::ElementsAre;

std::vector<std::string> cut(const std::string& text, const std::string& pattern) {
  PieceRegex::Scratch scratch;
  std::vector<std::string> pieces;
  PieceRegex(pattern).cut(text, &scratch, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

TEST(PieceRegex, MeansBySpaceAndLineWhatOnigurumaMeans) {
  EXPECT_THAT(cut("a\u0085b\u180E", "\\s"), ElementsAre("a", "\u0085", "b\u180E"));
  EXPECT_THAT(cut("a b\u3000", "[^\\s]+"), ElementsAre("a", " ", "b", "\u3000"));
  EXPECT_THAT(cut("a  \nb ", " +$"), ElementsAre("a", "  ", "\nb", " "));
  EXPECT_THAT(cut("a\\sb", "\\\\s"), ElementsAre("a", "\\s", "b"));
}

TEST(PieceRegex, NamesThePatternThatTakesTooManySteps) {
  const std::string text = std::string(60, 'a') + "!b";
  for (const char* pattern : {"(a+)+b", "(?:(?:a|aa)+)+b", "(?:a|a(?R)?)+b"}) {
    EXPECT_THAT(message_of<base::DataError>([&] { cut(text, pattern); }), testing::HasSubstr(pattern));
  }
}

TEST(PieceRegex, RefusesWhatWouldCutCharactersOrTakeTooMuchMemory) {
  for (const std::string& pattern : {std::string("\\C"), std::string("("), std::string("(((a{9999}){9999}){9999})"),
                                     std::string(70000, 'a'), std::string("\\p{Nonsense}"), std::string("[z-a]"),
                                     std::string("a|"), std::string("(?<=a*)b"), std::string("\xFF")}) {
    EXPECT_NE(message_of<base::DataError>([&] { PieceRegex{pattern}; }), "") << pattern.substr(0, 30);
  }
}

}  // namespace
}  // namespace troika::data
