#include "tokenizer/added_tokens.h"

#include <gmock/gmock.h>

namespace troika::tokenizer {
namespace {
using testing::ElementsAre;

AddedToken token(std::int32_t id, const std::string& content) {
  AddedToken made;
  made.id = id;
  made.content = content;
  return made;
}

std::vector<std::string> split(const std::vector<AddedToken>& tokens, const std::string& text) {
  std::vector<std::string> parts;
  AddedTokens(tokens, std::make_shared<const UnicodeTable>())
      .split(
          text, [&](std::string_view part) { parts.emplace_back(part); },
          [&](std::int32_t id) { parts.push_back("#" + std::to_string(id)); });
  return parts;
}

TEST(AddedTokens, TakesTheLeftmostAndThereTheLongest) {
  const std::vector<AddedToken> tokens = {token(1, "<a>"), token(2, "<a>b"), token(3, "<<"), token(4, "b<")};
  EXPECT_THAT(split(tokens, "x<a>b<a>c"), ElementsAre("x", "#2", "#1", "c"));
  EXPECT_THAT(split(tokens, "<<a><"), ElementsAre("#3", "a><"));
  EXPECT_THAT(split(tokens, "<a<a"), ElementsAre("<a<a"));
  EXPECT_THAT(split({}, "<a>"), ElementsAre("<a>"));
  EXPECT_TRUE(split(tokens, "").empty());
}

TEST(AddedTokens, SwallowsTheWhiteSpaceBesideTokensThatStrip) {
  AddedToken left = token(1, "<l>"), right = token(2, "<r>"), both = token(3, "<b>");
  left.lstrip = right.rstrip = both.lstrip = both.rstrip = true;
  EXPECT_THAT(split({left, right, both}, "a \n<l> b\u3000<r>\t c"), ElementsAre("a", "#1", " b\u3000", "#2", "c"));
  EXPECT_THAT(split({left, right, both}, " <b> <b> <l>\u0085<r>\u00A0"), ElementsAre("#3", "#3", "#1", "\u0085", "#2"));
  EXPECT_THAT(split({left, token(4, "  ")}, "a  <l>"), ElementsAre("a", "#4", "#1"));
}

TEST(AddedTokens, KeepsSingleWordsOutOfWords) {
  AddedToken word = token(1, "cat");
  word.single_word = true;
  EXPECT_THAT(split({word}, "cat scatter cat's cat_ (cat) \u00E9cat"),
              ElementsAre("#1", " scatter ", "#1", "'s cat_ (", "#1", ") \u00E9cat"));
  EXPECT_THAT(split({word}, "\u4E2Dcat cat\u0301 \u200Dcat \U0001F600cat"),
              ElementsAre("\u4E2Dcat cat\u0301 \u200Dcat \U0001F600", "#1"));
  EXPECT_THAT(split({word, token(2, "tt")}, "catt"), ElementsAre("catt"));  // the rejected one hides the other
}

TEST(AddedTokens, AllowCutsOnlyWhereNoTokenReachesAcross) {
  const auto table = std::make_shared<const UnicodeTable>();
  AddedToken left = token(1, "<l>");
  left.lstrip = true;
  EXPECT_FALSE(AddedTokens({left}, table).may_cut("a\n<l>", 2));
  EXPECT_TRUE(AddedTokens({left}, table).may_cut("a\nb", 2));
  EXPECT_FALSE(AddedTokens({token(1, "a\nb")}, table).may_cut("a\nb", 2));
  left.content = "\u00E9";  // may come of an e in the text
  EXPECT_FALSE(AddedTokens({left}, table).may_cut("a\ne\u0301", 2));
}

}  // namespace
}  // namespace troika::tokenizer
