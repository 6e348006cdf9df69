#include "data/prepare.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/shard_index.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {
namespace {
using testing::HasSubstr;

std::vector<std::int32_t> tokens_of(const TokenStream& stream) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(stream.tokens()));
  stream.read(0, stream.tokens(), ids.data());
  return ids;
}

std::string text_of(const TokenStream& stream) {  // document ends as '|'
  std::string text;
  for (const std::int32_t id : tokens_of(stream))
    text.push_back(id == tokenizer::ByteTokenizer::end_id ? '|' : static_cast<char>(id));
  return text;
}

TEST(Prepare, WritesEachDocumentOnceAndEndsItWithTheMark) {
  const base::TestFolder folder;
  folder.write("in/a.txt", "alpha");
  folder.write("in/b.jsonl", "{\"text\": \"one\"}\n{\"text\": \"alpha\"}\n{\"text\": \"two\"}\n{\"text\": \"one\"}\n");
  folder.write("in/c.txt", "two");
  folder.write("in/d.bin.dat", std::string("\0", 1));
  const PrepareReport report = prepare({folder / "in"}, tokenizer::ByteTokenizer(), folder / "out/", {}, {});
  EXPECT_EQ(text_of(TokenStream::open(folder / "out")), "alpha|one|two|");
  EXPECT_EQ(report.documents, 3);
  EXPECT_EQ(report.duplicate_documents, 3);
  EXPECT_EQ(report.left_out.count(Why::binary), 1);
  EXPECT_EQ(report.tokens, 14);
  EXPECT_EQ(report.shards, 1);
  EXPECT_FALSE(report.reused);
}

TEST(Prepare, GivesTheSameBytesForAnyNumberOfWorkersAndTheIdsOfUncutText) {
  const base::TestFolder folder;
  tokenizer::BpeTrainerOptions training;
  training.vocab_size = 600;
  const std::string text = base::source_like_text(90000, 2);  // several chunks
  folder.write("in/a.txt", text);
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += "{\"text\": \"document " + std::to_string(i % 2000) + " of many\"}\n";
  folder.write("in/b.jsonl", lines);
  folder.write("in/c.txt", text);  // a duplicate that was cut
  folder.write("in/d.txt", base::source_like_text(100, 3));
  const tokenizer::BpeTokenizer tokenizer(train_bpe_on_files({folder / "in"}, training, {}).model);
  std::vector<std::string> results;
  for (const std::int64_t workers : {1, 2, 3}) {
    const std::string out = folder / ("out" + std::to_string(workers));
    PrepareOptions options;
    options.workers = workers;
    options.tokens_per_shard = 500000;
    EXPECT_EQ(prepare({folder / "in"}, tokenizer, out, options, {}).documents, 1 + 2000 + 1);
    results.push_back(base::contents_of(out));
  }
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
  const TokenStream stream = TokenStream::open(folder / "out2");
  EXPECT_GT(stream.shards().size(), 1u);
  auto expected = tokenizer.encode(text);
  expected.push_back(tokenizer.end_of_document_id());
  auto ids = tokens_of(stream);
  ids.resize(expected.size());
  EXPECT_EQ(ids, expected);
}

TEST(Prepare, ReportsProgressUpToTheEnd) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.txt", base::source_like_text(60000, 2));
  std::vector<Progress> seen;
  prepare({path}, tokenizer::ByteTokenizer(), folder / "out", {},
          [&](const Progress& progress) { seen.push_back(progress); });
  ASSERT_GT(seen.size(), 1u);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_GT(seen[i].done_bytes, seen[i - 1].done_bytes);
  EXPECT_EQ(seen.back().done_bytes, seen.back().total_bytes);
  EXPECT_EQ(seen.back().tokens, seen.back().total_bytes + 1);
}

TEST(Prepare, ReusesAFolderThatHoldsTheSameAndRefusesAnyOther) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.txt", "some text");
  prepare({path}, tokenizer::ByteTokenizer(), folder / "out", {}, {});
  const PrepareReport again = prepare({path}, tokenizer::ByteTokenizer(), folder / "out", {}, {});
  EXPECT_TRUE(again.reused);
  EXPECT_EQ(again.tokens, 10);
  folder.write("a.txt", "other text");
  EXPECT_THAT(
      base::message_of<base::ConfigError>([&] { prepare({path}, tokenizer::ByteTokenizer(), folder / "out", {}, {}); }),
      HasSubstr("already holds other data"));
  folder.write("mine/note", "x");
  EXPECT_THROW(prepare({path}, tokenizer::ByteTokenizer(), folder / "mine", {}, {}), base::ConfigError);
  EXPECT_EQ(base::read_file(folder / "mine/note"), "x");
}

TEST(PrepareOnce, PreparesOnceAndReusesTheCache) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.txt", "some text");
  int calls = 0;
  const auto count = [&](const Progress&) { ++calls; };
  const PrepareOptions options;
  const auto first = prepare_once({path}, tokenizer::ByteTokenizer(), folder / "cache", options, count);
  EXPECT_EQ(text_of(*first), "some text|");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(prepare_once({path}, tokenizer::ByteTokenizer(), folder / "cache", options, count)->fingerprint(),
            first->fingerprint());
  EXPECT_EQ(calls, 1);
  folder.write("a.txt", "same size");
  EXPECT_EQ(text_of(*prepare_once({path}, tokenizer::ByteTokenizer(), folder / "cache", options, count)), "same size|");
  EXPECT_EQ(calls, 2);
}

TEST(PrepareOnce, LetsOneOfSeveralAtOncePrepareAndTheOthersUseIt) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.txt", base::source_like_text(30000, 8));
  std::vector<std::string> fingerprints(4);
  std::vector<int> prepared(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto note = [&](const Progress& now) {
        if (now.maker.empty()) prepared[i] = 1;  // who waits hears of the other's progress too
      };
      fingerprints[i] = prepare_once({path}, tokenizer::ByteTokenizer(), folder / "cache", {}, note)->fingerprint();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(fingerprints, testing::Each(fingerprints[0]));
  EXPECT_EQ(prepared[0] + prepared[1] + prepared[2] + prepared[3], 1);
}

TEST(OpenShards, OpensThemAsTheyAreWhenTheTokenizerFits) {
  const base::TestFolder folder;
  prepare({folder.write("a.txt", "some text")}, tokenizer::ByteTokenizer(), folder / "out", {}, {});
  for (const std::string& path : {folder / "out", folder / "out/tokens-00000.bin"}) {
    EXPECT_EQ(text_of(*open_shards(path, tokenizer::ByteTokenizer())), "some text|");
  }
  tokenizer::BpeTrainerOptions training;
  const tokenizer::BpeTokenizer other(tokenizer::train_bpe({{"ab", 3}}, training));
  EXPECT_THAT(base::message_of<base::DataError>([&] { open_shards(folder / "out", other); }),
              HasSubstr("made by a different tokenizer (vocabulary 259"));
}

}  // namespace
}  // namespace troika::data
