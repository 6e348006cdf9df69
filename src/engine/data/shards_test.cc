#include "data/shards.h"

#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/text_files_test_support.h"

namespace troika::data {
namespace {
using testing::ElementsAre;

constexpr const char* fingerprint = "00c0ffee00c0ffee";

std::vector<std::int32_t> all_of(const TokenShard& shard) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(shard.header().tokens));
  shard.read(0, shard.header().tokens, ids.data());
  return ids;
}

TEST(TokenShard, ReadsBackIdsAndDocumentsInBothWidths) {
  const base::TestFolder folder;
  for (const std::int64_t vocab : {65536, 65537}) {
    ShardWriter writer(folder / "a.bin", vocab, fingerprint);
    writer.append({1, 2});
    writer.append({65535});
    writer.end_document();
    writer.end_document();  // an empty document leaves no trace
    writer.append({7});
    writer.end_document();
    const ShardHeader written = writer.finish();
    const TokenShard shard(folder / "a.bin", Verify::contents);
    EXPECT_THAT(all_of(shard), ElementsAre(1, 2, 65535, 7));
    EXPECT_EQ(shard.header().bytes_per_token, vocab == 65536 ? 2 : 4);
    EXPECT_EQ(shard.header().documents, 2);
    EXPECT_EQ(shard.header().payload_hash, written.payload_hash);
    EXPECT_EQ(shard.header().tokenizer_fingerprint, fingerprint);
    EXPECT_EQ(shard.document_end(0), 3);
    EXPECT_EQ(shard.document_end(1), 4);
  }
}

// Pages of files that this process has mapped and read.
std::int64_t pages_of_files() {
  std::int64_t pages = 0;
  EXPECT_TRUE(base::parse_int(base::split(base::read_file("/proc/self/statm"), ' ').at(2), &pages));
  return pages;
}

TEST(TokenShard, ThatIsVerifiedAsAWholeLeavesTheMemory) {
  const base::TestFolder folder;
  ShardWriter writer(folder / "a.bin", 100, fingerprint);
  for (int i = 0; i < 24; ++i) writer.append(std::vector<std::int32_t>(1 << 19, i));  // 24 MiB
  writer.end_document();
  writer.finish();
  const std::int64_t before = pages_of_files();
  const TokenShard shard(folder / "a.bin", Verify::contents);
  EXPECT_LT(pages_of_files() - before, 2048) << "8 MiB";
  std::int32_t last = 0;
  shard.read(shard.header().tokens - 1, 1, &last);
  EXPECT_EQ(last, 23);
}

TEST(TokenShard, FindsTheDocumentOfEachToken) {
  const base::TestFolder folder;
  ShardWriter writer(folder / "a.bin", 100, fingerprint);
  for (int length = 1; length <= 5; ++length) {
    writer.append(std::vector<std::int32_t>(static_cast<std::size_t>(length), length));
    writer.end_document();
  }
  writer.finish();
  const TokenShard shard(folder / "a.bin");
  const auto ids = all_of(shard);
  for (std::int64_t token = 0; token < 15; ++token) {
    EXPECT_EQ(shard.document_at(token), ids[static_cast<std::size_t>(token)] - 1);
  }
  EXPECT_EQ(shard.document_at(15), 5);
}

TEST(TokenShard, HasTheBytesTheFormatPageDescribes) {
  const base::TestFolder folder;
  ShardWriter writer(folder / "a.bin", 300, fingerprint);
  writer.append({0x0102, 3});
  writer.end_document();
  writer.finish();
  const std::string bytes = base::read_file(folder / "a.bin");
  ASSERT_EQ(bytes.size(), 80u + 8 + 8);
  EXPECT_EQ(bytes.substr(0, 8), "TRTOKENS");
  EXPECT_EQ(bytes.substr(8, 8), std::string("\1\0\0\0\2\0\0\0", 8));
  EXPECT_EQ(bytes.substr(16, 8), std::string("\2\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(24, 8), std::string("\1\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(32, 8), std::string("\x2C\1\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(64, 16), base::hash_bytes(bytes.substr(0, 64)));
  EXPECT_EQ(bytes.substr(80), std::string("\2\1\3\0\0\0\0\0\2\0\0\0\0\0\0\0", 16));
}

TEST(ShardWriter, LeavesNothingBehindWhenItIsNotFinished) {
  const base::TestFolder folder;
  {
    ShardWriter writer(folder / "a.bin", 100, fingerprint);
    writer.append({1, 2, 3});
    EXPECT_EQ(base::list_directory(folder.path()).size(), 1u);
  }
  EXPECT_TRUE(base::list_directory(folder.path()).empty());
}

TEST(ShardWriter, RefusesIdsOutsideTheVocabularyAndOpenDocuments) {
  const base::TestFolder folder;
  ShardWriter writer(folder / "a.bin", 100, fingerprint);
  EXPECT_THROW(writer.append({100}), base::BugError);
  EXPECT_THROW(writer.append({-1}), base::BugError);
  writer.append({99});
  EXPECT_THROW(writer.finish(), base::BugError);
}

}  // namespace
}  // namespace troika::data
