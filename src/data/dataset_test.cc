#include "data/dataset.h"

#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "data/data_test_support.h"
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
  const TestFolder folder;
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
  const TestFolder folder;
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
  const TestFolder folder;
  write_shards(folder.path(), {{3}, {4}});
  EXPECT_EQ(TokenStream::open(folder / "tokens-00001.bin").tokens(), 4);
}

TEST(TokenStream, NoticesShardsThatAreNotThoseOfTheIndex) {
  const TestFolder folder, other;
  write_shards(folder.path(), {{3}, {4}});
  write_shards(other.path(), {{5}, {4}});
  base::write_file_atomic(folder / "tokens-00000.bin", base::read_file(other / "tokens-00000.bin"));
  EXPECT_THAT(message_of<base::DataError>([&] { TokenStream::open(folder.path()); }),
              HasSubstr("not the shard its index"));
  base::remove_tree(folder / "tokens-00000.bin");
  EXPECT_THAT(message_of<base::DataError>([&] { TokenStream::open(folder.path()); }), HasSubstr("tokens-00000.bin"));
  base::remove_tree(folder / "index.json");
  EXPECT_THAT(message_of<base::DataError>([&] { TokenStream::open(folder.path()); }),
              HasSubstr("index.json' is missing"));
}

TEST(TokenDataset, GivesTargetsThatFollowTheInputs) {
  const TestFolder folder;
  write_shards(folder.path(), {{3, 4}, {1}, {10, 2}});
  const TokenDataset dataset(stream_of(folder.path()), 6);
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

TEST(TokenDataset, NeedsOneTokenMoreThanASampleIsLong) {
  const TestFolder folder;
  write_shards(folder.path(), {{20}});
  EXPECT_EQ(TokenDataset(stream_of(folder.path()), 19).samples(), 1);
  const std::string message = message_of<base::DataError>([&] { TokenDataset(stream_of(folder.path()), 20); });
  EXPECT_THAT(message, HasSubstr("holds 20 tokens, but one sample of --seq-len 20 needs 21"));
  EXPECT_THAT(message, HasSubstr("at most 19"));
}

TEST(TokenDataset, HasAFingerprintOfContentsAndLength) {
  const TestFolder a, b, c;
  write_shards(a.path(), {{30}});
  write_shards(b.path(), {{30}});
  write_shards(c.path(), {{31}});
  EXPECT_EQ(TokenDataset(stream_of(a.path()), 4).fingerprint(), TokenDataset(stream_of(b.path()), 4).fingerprint());
  EXPECT_NE(TokenDataset(stream_of(a.path()), 4).fingerprint(), TokenDataset(stream_of(c.path()), 4).fingerprint());
  EXPECT_NE(TokenDataset(stream_of(a.path()), 4).fingerprint(), TokenDataset(stream_of(a.path()), 5).fingerprint());
}

}  // namespace
}  // namespace troika::data
