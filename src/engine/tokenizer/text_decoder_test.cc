#include "tokenizer/text_decoder.h"

#include <gmock/gmock.h>

namespace troika::tokenizer {
namespace {
// What comes with each token, with a bar between, and at the end.
std::string given(const std::vector<DecoderStep>& steps, const std::vector<std::string>& tokens,
                  Before before = Before::nothing) {
  const TextDecoder decoder(steps);
  TextDecoder::Growing growing(decoder, before);
  std::string all;
  for (const std::string& token : tokens) all += growing.add(token) + "|";
  return all + growing.rest();
}

TEST(TextDecoder, GivesEachTokenWhenItsTextIsCertain) {
  const std::vector<DecoderStep> steps = {{DecoderStep::Kind::replace, "_", " "},
                                          {DecoderStep::Kind::byte_fallback},
                                          {DecoderStep::Kind::fuse},
                                          {DecoderStep::Kind::strip, "", " ", 1, 1}};
  EXPECT_EQ(given(steps, {"_a", "_b"}), "a| b|");
  EXPECT_EQ(given(steps, {"_", "_", "b_", "_", "c"}), "|| b| | c|");
  EXPECT_EQ(given(steps, {"_a"}, Before::text), " a|");
  EXPECT_EQ(given(steps, {"a_", "_"}), "a| |");
  EXPECT_EQ(given(steps, {"<0xe4>", "<0xBD>", "<0xA0>", "x"}), "|||\u4f60x|");
  EXPECT_EQ(given(steps, {"<0xE4>", "<0xBD>"}), "||\uFFFD\uFFFD");
}

TEST(TextDecoder, DropsSpacesOfTheFirstTokenAlone) {
  EXPECT_EQ(given({{DecoderStep::Kind::metaspace, "_", ""}}, {"_a_", "_b"}), "a| b|");
  EXPECT_EQ(given({{DecoderStep::Kind::metaspace, "_", ""}}, {"_a_", "_b"}, Before::text), " a | b|");
  EXPECT_EQ(given({{DecoderStep::Kind::metaspace, "_", " "}}, {"_a"}), " a|");
}

TEST(TextDecoder, HoldsAllBackForStepsThatNeedTheWholeText) {
  EXPECT_EQ(given({{DecoderStep::Kind::fuse}, {DecoderStep::Kind::replace, "ab", "c"}}, {"a", "b"}), "||c");
  EXPECT_EQ(given({{DecoderStep::Kind::strip, "", "-", 1, 2}}, {"--a---", "-b"}), "-a-|b|");
}

}  // namespace
}  // namespace troika::tokenizer
