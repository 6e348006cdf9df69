#include "data/prepare.h"

#include <gmock/gmock.h>

#include "base/text_files_test_support.h"
#include "tokenizer/bpe.h"

namespace troika::data {
namespace {

TEST(CorpusBpe, GivesTheSameVocabularyForAnyNumberOfWorkers) {
  const base::TestFolder folder;
  const std::string text = base::source_like_text(60000, 4);  // some MB, several chunks
  folder.write("in/b.txt", text);
  folder.write("in/a.txt", "int duplicate;\n");
  folder.write("in/c.txt", "int duplicate;\n");
  folder.write("in/d.jsonl", "{\"text\": \"line one of two\"}\n{\"text\": \"line two of two\"}\n");
  std::vector<std::string> fingerprints;
  for (const std::int64_t workers : {1, 2, 3}) {
    tokenizer::BpeTrainerOptions options;
    options.vocab_size = 700;
    options.workers = workers;
    const TrainedBpe trained = train_bpe_on_files({folder / "in"}, options, {});
    fingerprints.push_back(tokenizer::BpeTokenizer(trained.model).fingerprint());
  }
  EXPECT_EQ(fingerprints[1], fingerprints[0]);
  EXPECT_EQ(fingerprints[2], fingerprints[0]);
}

TEST(CorpusBpe, CountsEachDocumentOnce) {
  const base::TestFolder folder;
  folder.write("once/a.txt", "abab abab");
  folder.write("twice/a.txt", "abab abab");
  folder.write("twice/b.txt", "abab abab");
  tokenizer::BpeTrainerOptions options;
  options.min_count = 5;  // a, b are together four times in one document
  EXPECT_EQ(train_bpe_on_files({folder / "once"}, options, {}).model.merges.size(),
            train_bpe_on_files({folder / "twice"}, options, {}).model.merges.size());
}

// DNA, Japanese, one letter, base64, runs of spaces.
TEST(CorpusBpe, LearnsFromTextWithoutBreaks) {
  const base::TestFolder folder;
  std::string kana;
  for (const char c : base::random_text("0123456789", 3000, 2))
    kana += std::string("\xE3\x81") + static_cast<char>(0x82 + 2 * (c - '0'));
  std::string spaces;
  for (int i = 0; i < 300; ++i) spaces += std::string(400, ' ') + "x\n";
  const std::vector<std::pair<std::string, std::size_t>> cases = {
      {base::random_text("ACGT", 30000, 1), 200}, {kana, 100}, {std::string(5000, 'a'), 11},
      {base::random_text("ABCDEFGHabcdefgh+/", 20000, 3), 200}, {spaces, 9}};
  for (const auto& [text, merges] : cases) {
    tokenizer::BpeTrainerOptions options;
    options.vocab_size = 457;
    const TrainedBpe trained = train_bpe_on_files({folder.write("a.txt", text)}, options, {});
    EXPECT_GE(trained.model.merges.size(), merges) << text.substr(0, 20);
    EXPECT_EQ(trained.left_out_bytes, 0);
    const tokenizer::BpeTokenizer tokenizer(trained.model);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(CorpusBpe, CountsALimitedPartOfLongPiecesAndSaysHowMuchIsLeftOut) {
  const base::TestFolder folder;
  folder.write("in/a.txt", std::string(2005, 'a'));
  folder.write("in/b.txt", std::string(1000, 'b'));
  tokenizer::BpeTrainerOptions options;
  options.vocab_size = 260;
  options.most_long_bytes = 2000;
  const TrainedBpe trained = train_bpe_on_files({folder / "in"}, options, {});
  EXPECT_EQ(trained.left_out_bytes, 5 + 1000);
  EXPECT_EQ(trained.model.tokens[256], "aa");
}

}  // namespace
}  // namespace troika::data
