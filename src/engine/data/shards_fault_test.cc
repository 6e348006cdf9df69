#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/shards.h"

namespace troika::data {
namespace {
using testing::AllOf;
using testing::HasSubstr;

class DamagedShard : public testing::Test {
 protected:
  DamagedShard() {
    ShardWriter writer(path_, 300, "00c0ffee00c0ffee");
    writer.append({1, 2, 3, 4, 5, 6, 7, 8, 9});
    writer.end_document();
    writer.finish();
    sound_ = base::read_file(path_);
  }

  std::string error_of(const std::string& bytes, Verify verify) {
    base::write_file_atomic(path_, bytes);
    return base::message_of<base::DataError>([&] { TokenShard shard(path_, verify); });
  }

  base::TestFolder folder_;
  std::string path_ = folder_ / "tokens-00000.bin";
  std::string sound_;
};

TEST_F(DamagedShard, IsNamedWhenItIsCutAnywhere) {
  for (std::size_t size = 0; size < sound_.size(); ++size) {
    const std::string message = error_of(sound_.substr(0, size), Verify::lengths);
    ASSERT_THAT(message, AllOf(HasSubstr(path_), HasSubstr("truncated"), HasSubstr("prepare"))) << size;
    ASSERT_THAT(message, HasSubstr(std::to_string(size)));
  }
}

TEST_F(DamagedShard, IsNamedWhenItIsTooLong) {
  EXPECT_THAT(error_of(sound_ + "x", Verify::lengths),
              AllOf(HasSubstr("too long"), HasSubstr("112"), HasSubstr("113")));
}

TEST_F(DamagedShard, IsNoticedWhicheverByteChanges) {
  for (std::size_t at = 0; at < sound_.size(); ++at) {
    std::string bytes = sound_;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    const Verify enough = at < 80 ? Verify::lengths : Verify::contents;
    ASSERT_THAT(error_of(bytes, enough), HasSubstr(path_)) << at;
  }
}

TEST_F(DamagedShard, IsNoticedOnReadingAnIdBeyondTheVocabulary) {
  std::string bytes = sound_;
  bytes[80 + 2 * 4 + 1] = 0x7F;
  base::write_file_atomic(path_, bytes);
  base::remove_tree(piece_hashes_path(path_));
  const TokenShard shard(path_, Verify::lengths);
  std::vector<std::int32_t> ids(9);
  EXPECT_NO_THROW(shard.read(0, 4, ids.data()));
  EXPECT_THAT(base::message_of<base::DataError>([&] { shard.read(0, 9, ids.data()); }),
              HasSubstr("the vocabulary has only 300"));
}

TEST(ForgedShard, IsNoticedWhereItsDocumentsDoNotEndOneAfterTheOther) {
  const base::TestFolder folder;
  const std::string path = folder / "tokens-00000.bin";
  ShardWriter writer(path, 300, "00c0ffee00c0ffee");
  for (int document = 0; document < 3; ++document) {
    writer.append({1, 2, 3, 4});
    writer.end_document();
  }
  writer.finish();
  base::remove_tree(piece_hashes_path(path));
  const std::string sound = base::read_file(path);
  for (const char end : {0, 4, 13, -1}) {  // of the second document, which begins at token 4
    std::string bytes = sound;
    bytes.replace(bytes.size() - 16, 8, std::string(8, end < 0 ? end : '\0'));
    bytes[bytes.size() - 16] = end;
    base::write_file_atomic(path, bytes);
    const auto use = [&] { TokenShard(path, Verify::lengths).document_end(1); };
    EXPECT_THAT(base::message_of<base::DataError>(use), HasSubstr("is damaged: document "));
  }
}

TEST_F(DamagedShard, IsToldFromFilesOfOtherKinds) {
  EXPECT_THAT(error_of(std::string(200, 'x'), Verify::lengths), HasSubstr("not a token shard"));
  EXPECT_THAT(error_of("", Verify::lengths), HasSubstr("empty"));
}

TEST_F(DamagedShard, NeverReadsOutsideItsTokens) {
  base::write_file_atomic(path_, sound_);
  const TokenShard shard(path_);
  std::int32_t id = 0;
  EXPECT_THROW(shard.read(9, 1, &id), base::BugError);
  EXPECT_THROW(shard.read(-1, 1, &id), base::BugError);
}

}  // namespace
}  // namespace troika::data
