#include "tokenizer/merger.h"

#include <gtest/gtest.h>

namespace troika::tokenizer {
namespace {

TEST(Joints, AreWhereALeftTokenEndsAndARightOneBegins) {
  const std::vector<std::string> tokens = {"a", "b", "c", "d", "ab", "abc", "da"};
  const TokenTable ids(tokens, {});
  const Joints joints({true, true, true, true, false, false, false}, tokens, {{0, 1}, {4, 2}}, ids);
  EXPECT_TRUE(joints.may_join(0, 1));
  EXPECT_TRUE(joints.may_join(1, 2));  // of "ab" and "c"
  std::size_t others = 0;
  for (std::int32_t left = 0; left < 4; ++left)
    for (std::int32_t right = 0; right < 4; ++right) others += joints.may_join(left, right) ? 1 : 0;
  EXPECT_LE(others, 4u);  // few that are none
}

TEST(Joints, KnowTheSymbolsOfSeveralBytesAtTheEndsOfTokens) {
  const std::vector<std::string> tokens = {"\xC3", "\xA9", "a", "\u00e9", "\u00e9a", "a\u00e9"};
  const TokenTable ids(tokens, {});
  const Joints joints({true, true, true, true, false, false}, tokens, {{3, 2}, {2, 3}}, ids);
  EXPECT_TRUE(joints.may_join(3, 2));  // the character
  EXPECT_TRUE(joints.may_join(1, 2));  // its last byte
  EXPECT_TRUE(joints.may_join(2, 3));
  EXPECT_TRUE(joints.may_join(2, 0));
}

TEST(Joints, AreNowhereWithoutMerges) {
  const std::vector<std::string> tokens = {"a", "b"};
  const TokenTable ids(tokens, {});
  const Joints joints({true, true}, tokens, {}, ids);
  for (const std::int32_t left : {0, 1})
    for (const std::int32_t right : {0, 1}) EXPECT_FALSE(joints.may_join(left, right));
}

}  // namespace
}  // namespace troika::tokenizer
