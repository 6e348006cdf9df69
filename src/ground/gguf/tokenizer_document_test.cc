#include "gguf/tokenizer_document.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "gguf/gguf_test_support.h"
#include "gguf/pre_tokenizer.h"

namespace troika::gguf {
namespace {
using nlohmann::json;
using testing::HasSubstr;

Keys byte_level_keys(const std::string& pre) {
  Keys keys;
  keys.text("general.architecture", "llama");
  keys.text("tokenizer.ggml.model", "gpt2");
  keys.text("tokenizer.ggml.pre", pre);
  keys.texts("tokenizer.ggml.tokens", {"<|end|>", "a", "b", "ab", "<tool>", "[PAD5]"});
  keys.wholes("tokenizer.ggml.token_type", {3, 1, 1, 1, 4, 5});
  keys.texts("tokenizer.ggml.merges", {"a b"});
  keys.whole("tokenizer.ggml.bos_token_id", 0);
  keys.whole("tokenizer.ggml.eos_token_id", 0);
  return keys;
}

json tokenizer_of(const Keys& keys) {
  const std::string content = testing_support::file_bytes(keys, {});
  return json::parse(tokenizer_json(Header(content, "a.gguf")));
}

std::string refusal(const Keys& keys) {
  try {
    tokenizer_of(keys);
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "";
}

TEST(GgufTokenizer, OfBytesHasWordsMergesMarksAndThePatternOfItsName) {
  const json t = tokenizer_of(byte_level_keys("smollm"));
  EXPECT_EQ(t["model"]["vocab"], json({{"a", 1}, {"b", 2}, {"ab", 3}}));
  EXPECT_EQ(t["model"]["merges"], json::array({json::array({"a", "b"})}));
  ASSERT_EQ(t["added_tokens"].size(), 2);
  EXPECT_EQ(t["added_tokens"][0]["content"], "<|end|>");
  EXPECT_EQ(t["added_tokens"][0]["special"], true);
  EXPECT_EQ(t["added_tokens"][1]["special"], false);
  EXPECT_EQ(t["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"], "\\p{N}");
  EXPECT_EQ(t["pre_tokenizer"]["pretokenizers"].size(), 3);
  EXPECT_EQ(t["normalizer"], nullptr);
  EXPECT_EQ(t["post_processor"]["single"].size(), 1) << "no token bos in front";
}

TEST(GgufTokenizer, BeginsTextsWhereItsNameOrAKeySaysSo) {
  EXPECT_EQ(tokenizer_of(byte_level_keys("llama-bpe"))["post_processor"]["single"][0]["SpecialToken"]["id"], "<|end|>");
  EXPECT_EQ(tokenizer_of(byte_level_keys("llama-bpe"))["model"]["ignore_merges"], true);
  Keys keys = byte_level_keys("llama-bpe");
  keys.truth("tokenizer.ggml.add_bos_token", false);
  EXPECT_EQ(tokenizer_of(keys)["post_processor"]["single"].size(), 1);
  EXPECT_EQ(tokenizer_of(byte_level_keys("qwen2"))["normalizer"]["type"], "NFC");
}

TEST(GgufTokenizer, OfSentencePieceGetsMergesFromItsScores) {
  Keys keys;
  keys.text("general.architecture", "llama");
  keys.text("tokenizer.ggml.model", "llama");
  keys.texts("tokenizer.ggml.tokens", {"<unk>", "<s>", "\xE2\x96\x81", "a", "b",
                                       "\xE2\x96\x81"
                                       "a",
                                       "ab",
                                       "\xE2\x96\x81"
                                       "ab"});
  keys.wholes("tokenizer.ggml.token_type", {2, 3, 1, 1, 1, 1, 1, 1});
  keys.numbers("tokenizer.ggml.scores", {0, 0, -1000, -1001, -1002, -2, -1, -3});
  keys.whole("tokenizer.ggml.bos_token_id", 1);
  const json t = tokenizer_of(keys);
  const std::string mark = "\xE2\x96\x81";
  EXPECT_EQ(t["model"]["merges"], json::array({json::array({"a", "b"}), json::array({mark, "a"}),
                                               json::array({mark + "a", "b"}), json::array({mark, "ab"})}));
  EXPECT_EQ(t["model"]["byte_fallback"], true);
  EXPECT_EQ(t["model"]["unk_token"], "<unk>");
  EXPECT_EQ(t["pre_tokenizer"]["type"], "Metaspace");
  EXPECT_EQ(t["pre_tokenizer"]["prepend_scheme"], "first");
  EXPECT_EQ(t["post_processor"]["single"][0]["SpecialToken"]["id"], "<s>");
}

TEST(GgufTokenizer, ThatCannotBeReadSaysWhy) {
  EXPECT_THAT(refusal(byte_level_keys("made-up")),
              HasSubstr("tokenizer.ggml.pre is 'made-up', whose pattern is not known; these are: gpt-2"));
  Keys keys = byte_level_keys("qwen2");
  Keys wordpiece;
  wordpiece.text("tokenizer.ggml.model", "bert");
  EXPECT_THAT(refusal(wordpiece), HasSubstr("tokenizer.ggml.model is 'bert'"));
  keys.numbers("tokenizer.ggml.scores", {1});
  EXPECT_THAT(refusal(keys), HasSubstr("6 tokens, 6 kinds of them and 1 scores"));
  Keys single;
  single.text("tokenizer.ggml.model", "gpt2");
  single.text("tokenizer.ggml.pre", "gpt-2");
  single.texts("tokenizer.ggml.tokens", {"a"});
  single.texts("tokenizer.ggml.merges", {"ab"});
  EXPECT_THAT(refusal(single), HasSubstr("the merge 'ab' is not a pair"));
}

TEST(GgufTokenizer, ConfigHasTheTemplateAndTheMarks) {
  Keys keys = byte_level_keys("qwen2");
  keys.text("tokenizer.chat_template", "{{ x }}");
  const std::string one = testing_support::file_bytes(keys, {});
  const json config = json::parse(tokenizer_config_json(Header(one, "a.gguf")));
  EXPECT_EQ(config["eos_token"], "<|end|>");
  EXPECT_EQ(config["chat_template"], "{{ x }}");
  keys.text("tokenizer.chat_template.tool_use", "{{ y }}");
  const std::string two = testing_support::file_bytes(keys, {});
  const json named = json::parse(tokenizer_config_json(Header(two, "a.gguf")))["chat_template"];
  EXPECT_EQ(named, json::array({json({{"name", "default"}, {"template", "{{ x }}"}}),
                                json({{"name", "tool_use"}, {"template", "{{ y }}"}})}));
}

TEST(GgufPreTokenizers, AreFoundByTheirPatternsOrTheNearestIsNamed) {
  const PreTokenizer& qwen2 = *find_pre_tokenizer("qwen2");
  EXPECT_STREQ(pre_tokenizer_of({qwen2.patterns[0]}, "a tokenizer", Merging::all).names.front(), "qwen2");
  const std::string llama3 = find_pre_tokenizer("llama-bpe")->patterns[0];
  EXPECT_STREQ(pre_tokenizer_of({llama3}, "a tokenizer", Merging::whole_pieces_first).names.front(), "llama-bpe");
  EXPECT_STREQ(pre_tokenizer_of({llama3}, "a tokenizer", Merging::all).names.front(), "dbrx");
  EXPECT_STREQ(
      pre_tokenizer_of({"\\p{N}", find_pre_tokenizer("gpt-2")->patterns[0]}, "a tokenizer", Merging::all).names.front(),
      "smollm");
  try {
    pre_tokenizer_of({llama3 + "|x"}, "a tokenizer", Merging::all);
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("a tokenizer: GGUF has no name for the pattern"),
                      testing::AnyOf(HasSubstr("the nearest is 'llama-bpe'"), HasSubstr("the nearest is 'dbrx'"))));
  }
}

}  // namespace
}  // namespace troika::gguf
