// Texts continued alone, together, and in turns.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "base/error.h"
#include "inference/generate.h"
#include "weights/drawn_weights_test_support.h"

namespace troika::inference {
namespace {
using Ids = std::vector<std::int32_t>;

class Generating : public testing::TestWithParam<const char*> {
 protected:
  Generating()
      : source_(weights::small_text_model(GetParam())),
        model_(source_, {}),
        tokenizer_(tokenizer::open_tokenizer("bytes")) {}

  Ids ids(const std::string& text) const { return tokenizer_->encode(text); }
  std::string whole(Text& text) const {
    std::string bytes;
    while (!text.ended()) {
      advance(model_, {&text});
      bytes += text.take();
    }
    return bytes;
  }
  std::string alone(const Ids& prompt, const TextOptions& options) const {
    Text text(model_, *tokenizer_, prompt, options);
    return whole(text);
  }

  weights::DrawnWeights source_;
  const TextModel model_;
  const std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

TextOptions of(double temperature, std::int64_t tokens, std::uint64_t seed = 5) {
  TextOptions options;
  options.sampling.temperature = temperature;
  options.new_tokens = tokens;
  options.seed = seed;
  return options;
}

TEST_P(Generating, ABatchOfAnySizeGivesEachPromptTheTextItHasAlone) {
  Batch batch;
  for (int i = 0; i < 21; ++i) batch.prompts.push_back(ids(std::string(static_cast<std::size_t>(1 + 2 * i), 'a' + i)));
  batch.options = of(1, 12);
  batch.options.sampling.repetition_penalty = 1.2;
  batch.options.stop_ids = {7, 70, 140, 210};
  std::vector<std::string> want;
  for (std::size_t i = 0; i < batch.prompts.size(); ++i) {
    TextOptions options = batch.options;
    options.seed += i;
    want.push_back(alone(batch.prompts[i], options));
  }
  for (const std::int64_t together : {1, 2, 5, 40}) {
    batch.together = together;
    std::vector<std::string> got(batch.prompts.size());
    std::size_t drawn = 0, counted = 0;
    continue_all(
        model_, *tokenizer_, batch,
        [&](std::size_t i, Text& text) {
          EXPECT_TRUE(got[i].empty());
          got[i] = text.take();
          counted += static_cast<std::size_t>(text.tokens()) + (text.tokens() < 12 ? 1 : 0);
        },
        [&](std::size_t tokens) { drawn += tokens; });
    EXPECT_EQ(got, want) << together;
    EXPECT_EQ(drawn, counted);
  }
}

TEST_P(Generating, TheSeedDecidesTheText) {
  const Ids prompt = ids("some words");
  EXPECT_EQ(alone(prompt, of(1, 30)), alone(prompt, of(1, 30)));
  EXPECT_NE(alone(prompt, of(1, 30)), alone(prompt, of(1, 30, 6)));
  EXPECT_EQ(alone(prompt, of(0, 30)), alone(prompt, of(0, 30, 6)));
}

TEST_P(Generating, StopsBeforeAStopIdOrText) {
  const Ids prompt = ids("some words");
  const std::string free = alone(prompt, of(0, 30));
  ASSERT_GE(free.size(), 8u);
  TextOptions options = of(0, 30);
  options.stop_texts = {free.substr(3, 3)};
  Text by_text(model_, *tokenizer_, prompt, options);
  const std::string cut = whole(by_text);
  EXPECT_EQ(cut, free.substr(0, free.find(options.stop_texts[0])));
  EXPECT_EQ(by_text.finish(), Finish::stop);
  options.stop_texts.clear();
  options.stop_ids = {static_cast<unsigned char>(free[4])};
  Text by_id(model_, *tokenizer_, prompt, options);
  EXPECT_EQ(whole(by_id), free.substr(0, free.find(free[4])));
  EXPECT_EQ(by_id.finish(), Finish::stop);
  EXPECT_EQ(by_id.tokens(), static_cast<std::int64_t>(free.find(free[4])));
}

// Bytes that it gives when the next one comes.
class HeldBytes final : public tokenizer::Tokenizer {
 public:
  std::vector<std::int32_t> encode(std::string_view text) const override { return bytes_.encode(text); }
  std::string id_to_bytes(std::int32_t id) const override { return bytes_.id_to_bytes(id); }
  std::int64_t vocab_size() const override { return bytes_.vocab_size(); }
  std::int32_t end_of_document_id() const override { return bytes_.end_of_document_id(); }
  std::string fingerprint() const override { return "held"; }
  std::size_t next_cut(std::string_view text, std::size_t) const override { return text.size(); }
  std::unique_ptr<tokenizer::GrowingText> begin_text(tokenizer::Before) const override {
    struct Held final : tokenizer::GrowingText {
      explicit Held(const Tokenizer& owner) : bytes(owner) {}
      std::string add(std::int32_t id) override { return std::exchange(held, bytes.id_to_bytes(id)); }
      std::string rest() const override { return held; }
      const Tokenizer& bytes;
      std::string held;
    };
    return std::make_unique<Held>(bytes_);
  }

 private:
  tokenizer::ByteTokenizer bytes_;
};

TEST_P(Generating, EndsAtAStopTextThatTheTokenizerHoldsBack) {
  const HeldBytes held{};
  TextOptions options = of(1, 30);
  Text all(model_, held, ids("hello"), options);
  const std::string text = whole(all);
  EXPECT_EQ(text, alone(ids("hello"), options));
  options.stop_texts = {text.substr(text.size() / 2, 1)};
  Text plain(model_, *tokenizer_, ids("hello"), options), holding(model_, held, ids("hello"), options);
  EXPECT_EQ(whole(holding), whole(plain));
  EXPECT_EQ(holding.tokens(), plain.tokens());
  EXPECT_EQ(holding.finish(), Finish::stop);
}

TEST_P(Generating, EndsAtTheLastPositionOfTheModel) {
  Text text(model_, *tokenizer_, ids(std::string(90, 'x')), of(1, 30));
  whole(text);
  EXPECT_EQ(text.finish(), Finish::length);
  EXPECT_TRUE(text.is_full());
  EXPECT_EQ(text.positions(), 96);
  EXPECT_THROW(text.restart(ids(std::string(96, 'y'))), base::ConfigError);
  EXPECT_EQ(text.positions(), 96);
  EXPECT_THROW(Text(model_, *tokenizer_, ids(std::string(96, 'x')), {}), base::ConfigError);
  EXPECT_THROW(Text(model_, *tokenizer_, {}, {}), base::ConfigError);
  TextModel::Options options;
  options.context = 97;
  EXPECT_THROW(TextModel(source_, options), base::ConfigError);
}

TEST_P(Generating, AnotherPromptGivesWhatItGivesANewTextAndCostsOnlyWhatDiffers) {
  Text text(model_, *tokenizer_, ids("first turn"), of(0, 10));
  const std::string first = whole(text);
  const auto gives = [&](const std::string& prompt, std::int64_t kept) {
    text.restart(ids(prompt));
    EXPECT_FALSE(text.ended());
    EXPECT_EQ(text.kept(), kept) << prompt;
    EXPECT_EQ(whole(text), alone(ids(prompt), of(0, 10))) << prompt;
    EXPECT_EQ(text.tokens(), 10);
  };
  const std::string longer = "first turn" + first + "second turn";
  gives(longer, 10 + 9);  // the last token drawn was not computed
  gives(longer, 30);      // all but the position that says what comes next
  gives("first time", 7);
  gives("other", 0);
}

TEST_P(Generating, ATextThatWasLeftInTheMiddleMayBeginAnew) {
  TextOptions options = of(1, 10);
  options.sampling.repetition_penalty = 1.3;
  Text text(model_, *tokenizer_, ids("first turn"), options);
  for (int i = 0; i < 4; ++i) advance(model_, {&text});
  text.restart(ids("first turn, again"));
  EXPECT_EQ(text.kept(), 10);
  EXPECT_EQ(whole(text), alone(ids("first turn, again"), options));
}

INSTANTIATE_TEST_SUITE_P(Families, Generating, testing::Values("qwen3", "llama", "gpt2"));

}  // namespace
}  // namespace troika::inference
