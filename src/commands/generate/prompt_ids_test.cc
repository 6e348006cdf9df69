#include "commands/generate/prompt_ids.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::commands {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

// Bytes, with marks as told; the byte '^' is the mark 256.
class MarkedBytes final : public tokenizer::Tokenizer {
 public:
  MarkedBytes(Ids begin, std::int32_t end) : begin_(std::move(begin)), end_(end) {}
  Ids encode(std::string_view text) const override {
    Ids ids;
    for (const char c : text) ids.push_back(c == '^' ? 256 : static_cast<unsigned char>(c));
    return ids;
  }
  Ids begin_ids() const override { return begin_; }
  std::string id_to_bytes(std::int32_t id) const override { return {static_cast<char>(id)}; }
  std::int64_t vocab_size() const override { return 260; }
  std::int32_t end_of_document_id() const override { return end_; }
  std::string fingerprint() const override { return ""; }
  std::size_t next_cut(std::string_view text, std::size_t) const override { return text.size(); }

 private:
  const Ids begin_;
  const std::int32_t end_;
};

Ids ids(const std::string& prompt, const Ids& begin, std::int32_t end = 257) {
  config::ModelSettings model;
  model.vocab = 258;
  model.max_positions = 5;
  return ids_of(prompt, MarkedBytes(begin, end), model, "the prompt of line 3");
}

std::string prompt_refusal(const std::string& prompt, const Ids& begin, std::int32_t end = 257) {
  try {
    ids(prompt, begin, end);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(PromptIds, StandBehindTheBeginMarkOnce) {
  EXPECT_THAT(ids("ab", {}), ElementsAre('a', 'b'));
  EXPECT_THAT(ids("ab", {256}), ElementsAre(256, 'a', 'b'));
  EXPECT_THAT(ids("^ab", {256}), ElementsAre(256, 'a', 'b'));
  EXPECT_THAT(ids("a^", {256}), ElementsAre(256, 'a', 256));
  EXPECT_THAT(ids("^a", {256, 257}), ElementsAre(256, 257, 256, 'a'));
}

TEST(PromptIds, OfAnEmptyPromptAreTheBeginMarkElseTheEndMark) {
  EXPECT_THAT(ids("", {256}), ElementsAre(256));
  EXPECT_THAT(ids("", {}), ElementsAre(257));
  EXPECT_THAT(prompt_refusal("", {}, -1), HasSubstr("the prompt of line 3 is empty"));
}

TEST(PromptIds, MarksCountAmongTheTokensThatTheModelHasRoomFor) {
  EXPECT_EQ(ids("abcd", {}).size(), 4u);
  EXPECT_THAT(prompt_refusal("abcd", {256}),
              HasSubstr("the prompt of line 3 has 5 tokens, but the model has 5 positions"));
  EXPECT_THAT(prompt_refusal("a", {258}), HasSubstr("has the token 258, but the model knows 258 tokens"));
}

}  // namespace
}  // namespace troika::commands
