// Ids and texts of `tokenizers` and `sentencepiece` in golden/, which tests/conformance/make_tokenizer_goldens.py has made.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tokenizer/bpe.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/tokenizer_json.h"

namespace troika::tokenizer {
namespace {
using nlohmann::json;
using Ids = std::vector<std::int32_t>;

std::string golden(const std::string& name) {
  return base::read_file(std::string(TROIKA_SOURCE_DIR) + "/src/engine/tokenizer/golden/" + name);
}

// What comes one by one is, together, what comes at once.
std::string decoded_by_parts(const BpeTokenizer& tokenizer, const Ids& ids) {
  const auto growing = tokenizer.begin_text(Before::nothing);
  std::string text;
  for (const std::int32_t id : ids) {
    const std::string before = text + growing->rest();
    text += growing->add(id);
  }
  return text + growing->rest();
}

// A tokenizer that writes and reads itself is the same one.
void expect_cases(const BpeModel& model, const json& cases, const std::string& name) {
  const BpeTokenizer tokenizer(model);
  const BpeTokenizer again(parse_tokenizer_json(tokenizer_files(model)[1].second, name));
  for (const json& one : cases) {
    const auto ids = one["ids"].get<Ids>();
    const std::string text = one.value("text", "");
    if (one.contains("text")) {
      EXPECT_EQ(tokenizer.encode(text), ids) << name << ": " << text;
      EXPECT_EQ(again.encode(text), ids) << name << ", written: " << text;
    }
    if (!one.contains("decoded")) continue;
    EXPECT_EQ(tokenizer.decode(ids), one["decoded"]) << name << ": " << one["ids"];
    EXPECT_EQ(again.decode(ids), one["decoded"]) << name << ", written: " << one["ids"];
    EXPECT_EQ(decoded_by_parts(tokenizer, ids), one["decoded"]) << name;
  }
}

TEST(SentencePieceGolden, TokenizerJsonGivesTheIdsAndTextsOfTokenizers) {
  const json vocabulary = json::parse(golden("vocabulary.json")), kinds = json::parse(golden("kinds.json"));
  EXPECT_EQ(kinds.size(), 8u);
  for (const auto& [name, kind] : kinds.items()) {
    json file = vocabulary;
    file.update(kind["parts"]);
    const BpeModel model = parse_tokenizer_json(file.dump(), name);
    expect_cases(model, kind["cases"], name);
    expect_cases(model, kind["decodings"], name);
  }
}

TEST(SentencePieceGolden, TokenizerModelGivesTheIdsOfSentencePiece) {
  const json models = json::parse(golden("models.json"));
  EXPECT_EQ(models.size(), 2u);
  for (const auto& [name, cases] : models.items())
    expect_cases(bpe_of_sentencepiece(parse_sentencepiece_model(golden(name + ".model"), name), name), cases, name);
}

}  // namespace
}  // namespace troika::tokenizer
