#include "data/token_stream.h"

#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/loader.h"
#include "data/shard_index.h"

namespace troika::data {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

// Tokens 0, 1, 2, ... in shards of the given document lengths.
void write_shards(const std::string& folder, const std::vector<std::vector<std::int64_t>>& shards) {
  ShardIndex index;
  index.vocab_size = 1000;
  index.tokenizer_fingerprint = "00000000000000aa";
  std::int32_t next = 0;
  for (const auto& documents : shards) {
    const std::string name = "tokens-0000" + std::to_string(index.shards.size()) + ".bin";
    ShardWriter writer(folder + "/" + name, index.vocab_size, index.tokenizer_fingerprint);
    for (const std::int64_t length : documents) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
      std::iota(ids.begin(), ids.end(), next);
      next += static_cast<std::int32_t>(length);
      writer.append(ids);
      writer.end_document();
    }
    const ShardHeader header = writer.finish();
    index.shards.push_back({name, header.tokens, header.documents, header.payload_hash});
  }
  write_shard_index(folder, index);
}

std::shared_ptr<const TokenStream> stream_of(const std::string& folder) {
  return std::make_shared<const TokenStream>(TokenStream::open(folder));
}

TEST(TokenStream, ReadsAcrossShards) {
  const base::TestFolder folder;
  write_shards(folder.path(), {{3, 4}, {1}, {10, 2}});
  const TokenStream stream = TokenStream::open(folder.path());
  EXPECT_EQ(stream.tokens(), 20);
  EXPECT_EQ(stream.documents(), 5);
  for (std::int64_t first = 0; first < 20; ++first) {
    for (std::int64_t count = 0; first + count <= 20; ++count) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(count)), expected(ids.size());
      std::iota(expected.begin(), expected.end(), static_cast<std::int32_t>(first));
      stream.read(first, count, ids.data());
      ASSERT_EQ(ids, expected);
    }
  }
}

TEST(TokenStream, KnowsWhereDocumentsBegin) {
  const base::TestFolder folder;
  write_shards(folder.path(), {{3, 4}, {1}, {10, 2}});
  const TokenStream stream = TokenStream::open(folder.path());
  const std::vector<std::int64_t> begins = {0, 3, 7, 8, 18};
  for (std::int64_t first = 0; first < 20; ++first) {
    for (std::int64_t count = 0; first + count <= 20; ++count) {
      std::vector<std::int64_t> expected;
      for (const std::int64_t begin : begins) {
        if (begin > first && begin < first + count) expected.push_back(begin - first);
      }
      ASSERT_EQ(stream.document_starts(first, count), expected) << first << " " << count;
    }
  }
}

TEST(TokenStream, OpensASingleShardFile) {
  const base::TestFolder folder;
  write_shards(folder.path(), {{3}, {4}});
  EXPECT_EQ(TokenStream::open(folder / "tokens-00001.bin").tokens(), 4);
}

TEST(TokenStream, NoticesShardsThatAreNotThoseOfTheIndex) {
  const base::TestFolder folder, other;
  write_shards(folder.path(), {{3}, {4}});
  write_shards(other.path(), {{5}, {4}});
  base::write_file_atomic(folder / "tokens-00000.bin", base::read_file(other / "tokens-00000.bin"));
  EXPECT_THAT(base::message_of<base::DataError>([&] { TokenStream::open(folder.path()); }),
              HasSubstr("not the shard its index"));
  base::remove_tree(folder / "tokens-00000.bin");
  EXPECT_THAT(base::message_of<base::DataError>([&] { TokenStream::open(folder.path()); }),
              HasSubstr("tokens-00000.bin"));
  base::remove_tree(folder / "index.json");
  EXPECT_THAT(base::message_of<base::DataError>([&] { TokenStream::open(folder.path()); }),
              HasSubstr("index.json' is missing"));
}

TEST(TokenSamples, GivesTargetsThatFollowTheInputs) {
  const base::TestFolder folder;
  write_shards(folder.path(), {{3, 4}, {1}, {10, 2}});
  const TokenSamples dataset(stream_of(folder.path()), 6);
  ASSERT_EQ(dataset.samples(), 3);  // 19 tokens have a successor
  for (std::int64_t sample = 0; sample < 3; ++sample) {
    std::vector<std::int32_t> inputs(6), targets(6);
    dataset.read(sample, inputs.data(), targets.data());
    for (std::size_t t = 0; t < 6; ++t) {
      EXPECT_EQ(inputs[t], sample * 6 + static_cast<std::int64_t>(t));
      EXPECT_EQ(targets[t], inputs[t] + 1);
    }
  }
  EXPECT_THAT(dataset.document_starts(1), ElementsAre(1, 2));
  EXPECT_THROW(dataset.read(3, nullptr, nullptr), base::BugError);
}

TEST(TokenSamples, NeedsOneTokenMoreThanASampleIsLong) {
  const base::TestFolder folder;
  write_shards(folder.path(), {{20}});
  EXPECT_EQ(TokenSamples(stream_of(folder.path()), 19).samples(), 1);
  const std::string message = base::message_of<base::DataError>([&] { TokenSamples(stream_of(folder.path()), 20); });
  EXPECT_THAT(message, HasSubstr("holds 20 tokens, but one sample of --seq-len 20 needs 21"));
  EXPECT_THAT(message, HasSubstr("at most 19"));
}

TEST(TokenSamples, HasAFingerprintOfContentsAndLength) {
  const base::TestFolder a, b, c;
  write_shards(a.path(), {{30}});
  write_shards(b.path(), {{30}});
  write_shards(c.path(), {{31}});
  EXPECT_EQ(TokenSamples(stream_of(a.path()), 4).fingerprint(), TokenSamples(stream_of(b.path()), 4).fingerprint());
  EXPECT_NE(TokenSamples(stream_of(a.path()), 4).fingerprint(), TokenSamples(stream_of(c.path()), 4).fingerprint());
  EXPECT_NE(TokenSamples(stream_of(a.path()), 4).fingerprint(), TokenSamples(stream_of(a.path()), 5).fingerprint());
}

// Tokens 0, 1, 2, ... in documents of 3.
std::shared_ptr<const TokenStream> counting_stream(const base::TestFolder& folder, std::int32_t tokens) {
  const std::string path = folder / (std::to_string(tokens) + ".bin");
  ShardWriter writer(path, 5000, "00000000000000aa");
  for (std::int32_t first = 0; first < tokens; first += 3) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(3, tokens - first)));
    std::iota(ids.begin(), ids.end(), first);
    writer.append(ids);
    writer.end_document();
  }
  writer.finish();
  return std::make_shared<const TokenStream>(TokenStream::open(path));
}

TEST(TokenWindows, CountEveryTokenAfterTheFirstOnce) {
  const base::TestFolder folder;
  for (std::int32_t tokens = 2; tokens < 30; ++tokens) {
    const auto stream = counting_stream(folder, tokens);
    for (const std::int64_t length : {1, 2, 7, 29, 100}) {
      const TokenSamples windows(stream, length, "", Tail::kept);
      std::vector<std::int32_t> counted;
      for (std::int64_t sample = 0; sample < windows.samples(); ++sample) {
        std::vector<std::int32_t> inputs(static_cast<std::size_t>(windows.lengths(sample).at(0))), targets(inputs.size());
        windows.read(sample, inputs.data(), targets.data());
        for (std::size_t t = 0; t < inputs.size(); ++t) {
          EXPECT_EQ(targets[t], inputs[t] + 1);
          counted.push_back(targets[t]);
        }
      }
      std::vector<std::int32_t> all(static_cast<std::size_t>(tokens - 1));
      std::iota(all.begin(), all.end(), 1);
      EXPECT_EQ(counted, all) << tokens << " tokens, windows of " << length;
    }
  }
}

TEST(TokenWindows, KnowWhereDocumentsBeginAlsoInTheTail) {
  const base::TestFolder folder;
  const TokenSamples windows(counting_stream(folder, 11), 8, "", Tail::kept);
  ASSERT_EQ(windows.samples(), 2);
  EXPECT_EQ(windows.document_starts(0), (std::vector<std::int64_t>{3, 6}));
  EXPECT_EQ(windows.document_starts(1), (std::vector<std::int64_t>{1}));
}

TEST(TokenWindows, RefuseAStreamWithoutATarget) {
  const base::TestFolder folder;
  EXPECT_THROW(TokenSamples(counting_stream(folder, 1), 8, "", Tail::kept), base::DataError);
}

}  // namespace
}  // namespace troika::data
