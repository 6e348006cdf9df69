#include "data/corpus_bpe.h"

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
    fingerprints.push_back(tokenizer::BpeTokenizer(train_bpe_on_files({folder / "in"}, options, {})).fingerprint());
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
  options.min_count = 5;  // a, b stand together four times in one document
  EXPECT_EQ(train_bpe_on_files({folder / "once"}, options, {}).merges.size(),
            train_bpe_on_files({folder / "twice"}, options, {}).merges.size());
}

}  // namespace
}  // namespace troika::data
