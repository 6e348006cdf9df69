#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/opened_samples.h"
#include "data/piece_hashes.h"
#include "data/prepare.h"
#include "data/shard_index.h"
#include "data/token_stream.h"

namespace troika::data {
namespace {
using base::message_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t tokens = 600000;

class DamagedPiece : public testing::Test {
 protected:
  DamagedPiece() {
    ShardWriter writer(path_, 300, "00c0ffee00c0ffee");
    std::vector<std::int32_t> ids(1000);
    for (std::int64_t document = 0; document < tokens / 1000; ++document) {
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 + 3) % 300;
      writer.append(ids);
      writer.end_document();
    }
    writer.finish();
  }

  void flip(const std::string& path, std::size_t byte) const {
    std::string bytes = base::read_file(path);
    bytes[byte] = static_cast<char>(bytes[byte] ^ 1);
    base::write_file_atomic(path, bytes);
  }
  std::string error_of_reading(const TokenShard& shard, std::int64_t first, std::int64_t count) const {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    return message_of<base::DataError>([&] { shard.read(first, count, ids.data()); });
  }

  const base::TestFolder folder_;
  const std::string path_ = folder_ / "tokens-00000.bin";
};

TEST_F(DamagedPiece, IsNoticedBeforeItsIdsAreUsedThoughTheyAreInTheVocabulary) {
  const std::string before = TokenStream::open(path_, Verify::lengths).fingerprint();
  flip(path_, 80 + 2 * 400000);
  EXPECT_EQ(TokenStream::open(path_, Verify::lengths).fingerprint(), before);
  const TokenShard shard(path_);
  EXPECT_TRUE(shard.is_verified());
  const std::size_t piece = 2 * 400000 / hashed_piece_bytes * hashed_piece_bytes;
  const auto first = static_cast<std::int64_t>(piece / 2),
             end = first + static_cast<std::int64_t>(hashed_piece_bytes / 2);
  EXPECT_EQ(error_of_reading(shard, 0, first), "");
  EXPECT_EQ(error_of_reading(shard, end, tokens - end), "");
  for (const auto& [from, count] :
       {std::pair{first, std::int64_t{1}}, {first - 5, std::int64_t{6}}, {end - 1, std::int64_t{9}}})
    EXPECT_THAT(error_of_reading(shard, from, count),
                AllOf(HasSubstr(path_ + "' is damaged between bytes " + std::to_string(80 + piece) + " and " +
                                std::to_string(80 + piece + hashed_piece_bytes)),
                      HasSubstr("copy it again")));
}

TEST_F(DamagedPiece, IsNoticedWhereDocumentsEnd) {
  flip(path_, 80 + 2 * tokens + 8 * 100 + 1);
  const auto find = [&] { TokenShard(path_).document_at(100500); };
  EXPECT_THAT(message_of<base::DataError>(find), HasSubstr("is damaged between bytes"));
}

TEST_F(DamagedPiece, IsToldFromDamagedHashes) {
  const std::string hashes = piece_hashes_path(path_), sound = base::read_file(hashes);
  const auto open = [&] { TokenShard shard(path_); };
  EXPECT_EQ(message_of<base::DataError>(open), "");
  for (std::size_t byte = 0; byte < sound.size(); ++byte) {
    std::string bytes = sound;
    bytes[byte] = static_cast<char>(bytes[byte] ^ 4);
    base::write_file_atomic(hashes, bytes);
    ASSERT_THAT(message_of<base::DataError>(open), AllOf(HasSubstr(hashes), HasSubstr("copy"))) << byte;
  }
  for (std::size_t size = 0; size < sound.size(); size += 7) {
    base::write_file_atomic(hashes, sound.substr(0, size));
    ASSERT_THAT(message_of<base::DataError>(open), HasSubstr(hashes)) << size;
  }
}

TEST_F(DamagedPiece, IsNoticedWhereTheHashesAreAnotherShards) {
  ShardWriter writer(folder_ / "other.bin", 300, "00c0ffee00c0ffee");
  writer.append({1, 2, 3});
  writer.end_document();
  writer.finish();
  base::write_file_atomic(piece_hashes_path(path_), base::read_file(piece_hashes_path(folder_ / "other.bin")));
  EXPECT_THAT(message_of<base::DataError>([&] { TokenShard shard(path_); }), HasSubstr("does not belong to the shard"));
}

struct Prepared {
  base::TestFolder folder;
  std::string text = folder.write("a.txt", base::source_like_text(2000, 5)), out = folder / "out",
              hashes = out + "/tokens-00000.bin.hashes";
  PrepareReport prepare_again() const { return prepare({text}, tokenizer::ByteTokenizer(), out, {}, {}); }
};

TEST(PieceHashes, AreMissedWhereTheIndexNamesThem) {
  const Prepared p;
  p.prepare_again();
  base::remove_tree(p.hashes);
  EXPECT_THAT(message_of<base::DataError>([&] { TokenStream::open(p.out, Verify::lengths); }),
              AllOf(HasSubstr(p.hashes), HasSubstr("is missing")));
}

TEST(PieceHashes, AreAddedToShardsOfAVersionThatWroteNone) {
  const Prepared p;
  p.prepare_again();
  const std::string sound = base::contents_of(p.out);
  ShardIndex old = read_shard_index(p.out);
  old.shards[0].piece_hashes = "";
  write_shard_index(p.out, old);
  base::remove_tree(p.hashes);
  EXPECT_EQ(TokenStream::open(p.out, Verify::lengths).unverified_bytes(), base::file_size(p.out + "/tokens-00000.bin"));
  EXPECT_EQ(TokenStream::open(p.out).unverified_bytes(), 0);  // small enough to be read whole
  EXPECT_TRUE(p.prepare_again().reused);
  EXPECT_EQ(base::contents_of(p.out), sound);
  EXPECT_EQ(TokenStream::open(p.out, Verify::lengths).unverified_bytes(), 0);
  base::remove_tree(p.hashes);
  p.prepare_again();
  EXPECT_EQ(base::contents_of(p.out), sound);
}

}  // namespace
}  // namespace troika::data
