#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/say.h"
#include "base/temporary_folder_test_support.h"
#include "commands/export/model_folder.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {
namespace {
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class ExportedTokenizer : public testing::Test {
 protected:
  // The folder that an export of a run with this chat template writes beside a tokenizer with these added tokens.
  ExportReport exported(const std::string& chat_template, const json& added_tokens, const json& generation) {
    base::make_directories(in_);
    base::write_file_atomic(in_ + "/tokenizer.json", json::object({{"added_tokens", added_tokens}}).dump());
    base::write_file_atomic(in_ + "/tokenizer_config.json", R"({"model_max_length": 9, "eos_token": "<|endoftext|>"})");
    base::write_file_atomic(in_ + "/generation_config.json", generation.dump());
    base::make_directories(out_);
    ExportReport report;
    write_other_files(
        {in_ + "/tokenizer.json", {in_ + "/tokenizer_config.json", in_ + "/generation_config.json"}, chat_template}, {},
        {{"config.json", R"({"model_type": "llama", "eos_token_id": null})"}}, out_, &report);
    return report;
  }
  json written(const std::string& name) const { return json::parse(base::read_file(out_ + "/" + name)); }

  const base::TemporaryFolder folder_;
  const std::string in_ = folder_.path() + "/in", out_ = folder_.path() + "/out";
};

json token(int id, const char* content) { return json::object({{"id", id}, {"content", content}}); }
json stops_at(const json& ids) { return json::object({{"eos_token_id", ids}}); }
const json with_end_mark = json::array({token(5, "<|endoftext|>"), token(7, "<|im_end|>")});

TEST_F(ExportedTokenizer, StopsWhereAnswersOfItsTemplateEnd) {
  const ExportReport report = exported("chatml", with_end_mark, json::object({{"eos_token_id", 5}, {"top_k", 3}}));
  EXPECT_EQ(written("tokenizer_config.json")["eos_token"], "<|im_end|>");
  EXPECT_EQ(written("tokenizer_config.json")["model_max_length"], 9);
  EXPECT_EQ(written("generation_config.json"), json::object({{"eos_token_id", json::array({5, 7})}, {"top_k", 3}}));
  EXPECT_EQ(written("config.json"), json::object({{"model_type", "llama"}, {"eos_token_id", json::array({5, 7})}}));
  EXPECT_THAT(base::in(report.notes, base::Language::english), ElementsAre(HasSubstr("instead of the base model's <|endoftext|>")));
  exported("chatml", with_end_mark, json());
  EXPECT_EQ(written("config.json")["eos_token_id"], 7) << "generation_config.json is no object, and stays as it is";
  EXPECT_EQ(written("generation_config.json"), json());
}

TEST_F(ExportedTokenizer, KeepsIdsThatAreThereAlready) {
  exported("chatml", with_end_mark, stops_at(json::array({7, 5})));
  EXPECT_EQ(written("generation_config.json"), stops_at(json::array({5, 7})));
}

TEST_F(ExportedTokenizer, GetsNoTokenThatItDoesNotHave) {
  const ExportReport report = exported("chatml", json::array({token(5, "<|endoftext|>")}), stops_at(5));
  EXPECT_EQ(written("tokenizer_config.json")["eos_token"], "<|endoftext|>");
  EXPECT_EQ(written("generation_config.json"), stops_at(5));
  EXPECT_THAT(base::in(report.notes, base::Language::english), ElementsAre(HasSubstr("nor a single token in tokenizer.json")));
}

TEST_F(ExportedTokenizer, OfSentencePieceGetsATokenizerJsonWithTheSameIds) {
  base::make_directories(in_);
  base::make_directories(out_);
  const std::string model = in_ + "/tokenizer.model";
  base::write_file_atomic(model,
                          base::read_file(std::string(TROIKA_SOURCE_DIR) + "/src/engine/tokenizer/golden/llama.model"));
  ExportReport report;
  write_other_files({in_, {model}, "auto"}, {}, {}, out_, &report);
  EXPECT_TRUE(report.notes.empty());
  EXPECT_EQ(base::read_file(out_ + "/tokenizer.model"), base::read_file(model));
  const std::string text = "Hello world\n  \u4f60</s>x";
  EXPECT_EQ(tokenizer::open_tokenizer(out_ + "/tokenizer.json")->encode(text),
            tokenizer::open_tokenizer(in_)->encode(text));
  EXPECT_EQ(written("tokenizer_config.json")["bos_token"], "<s>");
  base::write_file_atomic(model, "none");
  base::remove_tree(out_ + "/tokenizer.json");
  write_other_files({in_, {model}, "auto"}, {}, {}, out_, &report);
  EXPECT_FALSE(base::file_exists(out_ + "/tokenizer.json"));
  EXPECT_THAT(base::in(report.notes, base::Language::english),
              testing::Contains(HasSubstr("not a model of SentencePiece")));
}

TEST_F(ExportedTokenizer, OfABaseModelStaysAsItIs) {
  const ExportReport report = exported("auto", with_end_mark, stops_at(5));
  EXPECT_EQ(base::read_file(out_ + "/tokenizer_config.json"), base::read_file(in_ + "/tokenizer_config.json"));
  EXPECT_EQ(written("generation_config.json"), stops_at(5));
  EXPECT_TRUE(report.notes.empty());
}

}  // namespace
}  // namespace troika::commands
