#include "tokenizer/normalizer.h"

#include <gmock/gmock.h>

namespace troika::tokenizer {
namespace {
std::string normalized(const std::string& text, const std::vector<NormalizerStep>& steps,
                       Before before = Before::nothing) {
  PieceRegex::Scratch scratch;
  std::string storage;
  return std::string(
      Normalizer(steps, std::make_shared<const UnicodeTable>()).normalize(text, before, &scratch, &storage));
}

TEST(Normalizer, AppliesOneStepAfterTheOther) {
  const std::vector<NormalizerStep> steps = {{NormalizerStep::Kind::prepend, "", "_"},
                                             {NormalizerStep::Kind::replace_text, " ", "_"},
                                             {NormalizerStep::Kind::lowercase}};
  EXPECT_EQ(normalized(" A  B ", steps), "__a__b_");
  EXPECT_EQ(normalized(" A  B ", steps, Before::mark), "__a__b_");
  EXPECT_EQ(normalized(" A  B ", steps, Before::text), "_a__b_");
  EXPECT_EQ(normalized("", steps), "");
}

TEST(Normalizer, KnowsTheFormsOfUnicode) {
  EXPECT_EQ(normalized("\u00e9\ufb01", {{NormalizerStep::Kind::nfd}}), "e\u0301\ufb01");
  EXPECT_EQ(normalized("\u00e9\ufb01", {{NormalizerStep::Kind::nfkd}}), "e\u0301fi");
  EXPECT_EQ(normalized("e\u0301\ufb01", {{NormalizerStep::Kind::nfkc}}), "\u00e9fi");
  EXPECT_EQ(normalized("\ufdfa", {{NormalizerStep::Kind::nfkc}}).size(), 33u);  // 18 characters
  EXPECT_EQ(normalized("\u0130\u03a3\u00c9", {{NormalizerStep::Kind::lowercase}}), "i\u0307\u03c3\u00e9");
}

TEST(Normalizer, StripsWhiteSpaceAtEitherEnd) {
  const std::string text = "\u3000\n a b\u00a0 ";
  EXPECT_EQ(normalized(text, {{NormalizerStep::Kind::strip_left}}), "a b\u00a0 ");
  EXPECT_EQ(normalized(text, {{NormalizerStep::Kind::strip_right}}), "\u3000\n a b");
  EXPECT_EQ(normalized(" \t ", {{NormalizerStep::Kind::strip_left}, {NormalizerStep::Kind::strip_right}}), "");
  EXPECT_EQ(normalized(" \t ", {{NormalizerStep::Kind::strip_right}, {NormalizerStep::Kind::strip_left}}), "");
}

TEST(Normalizer, LeavesBytesThatAreNoCharacters) {
  EXPECT_EQ(normalized("1\xFF\xE4 22\xE4", {{NormalizerStep::Kind::replace_pattern, "[0-9]+", "n"},
                                            {NormalizerStep::Kind::nfkc},
                                            {NormalizerStep::Kind::lowercase}}),
            "n\xFF\xE4 n\xE4");
  EXPECT_EQ(normalized("\xFF ", {{NormalizerStep::Kind::strip_left}, {NormalizerStep::Kind::strip_right}}), "\xFF");
}

}  // namespace
}  // namespace troika::tokenizer
