// Prepared data that are damaged, or become so while a run reads them: the file is named, and no step uses what is wrong.
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/file.h"
#include "commands/train/program_test_support.h"
#include "data/shards.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;

class DamagedData : public testing::Test {
 protected:
  void write_shard(std::int64_t tokens) const {
    const tokenizer::ByteTokenizer bytes;
    data::ShardWriter writer(shard_, bytes.vocab_size(), bytes.fingerprint());
    std::vector<std::int32_t> ids(1 << 20);
    for (std::int64_t written = 0; written < tokens; written += 1 << 20) {
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((i * 7 + i / 251) % 250);
      writer.append(ids);
      writer.end_document();
    }
    writer.finish();
  }
  Words train(const Words& more) const {
    return small_run(shard_, out_) + Words{"--log.progress", "none", "--data.tokenizer", "bytes"} + more;
  }

  const Folder folder_;
  const std::string shard_ = folder_ / "tokens.bin", out_ = folder_ / "run";
};

TEST_F(DamagedData, AShardThatIsCutDuringARunIsNamed) {
  for (const bool launched : {false, true}) {
    write_shard(1 << 20);
    const Words more{"--steps", "100000", "--out", out_ + (launched ? "2" : "1")};
    Program program(launched ? launch(2, train(more + Words{"--pp", "2"})) : troika(train(more)));
    await_step(more.back(), 3);
    ASSERT_EQ(::truncate(shard_.c_str(), 4096), 0);
    const End end = program.wait();
    EXPECT_EQ(end.code, 3) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr(shard_ + "' cannot be read at byte "), HasSubstr("truncated to 4096 of its")));
  }
}

class FullDamagedData : public DamagedData {};

// Above 256 MiB contents are not read before the run begins.
TEST_F(FullDamagedData, OneFlippedIdIn300MiBIsNamedBeforeAStepUsesIt) {
  write_shard(std::int64_t{150} << 20);
  const auto bytes = base::file_size(shard_);
  EXPECT_GT(bytes, std::int64_t{300} << 20);
  const End sound =
      run(troika(train({"--steps", "1", "--out", out_ + "1", "--seq-len", "4096", "--data.shuffle", "false"})));
  EXPECT_EQ(sound.code, 0) << sound.output;
  std::FILE* file = std::fopen(shard_.c_str(), "r+b");  // an id of the first step's eleventh sample
  ASSERT_EQ(std::fseek(file, 80 + 2 * (10 * 4096 + 17), SEEK_SET), 0);
  std::fputc(3, file);
  std::fclose(file);
  const End end = run(troika(train({"--out", out_ + "2", "--seq-len", "4096", "--data.shuffle", "false"})));
  EXPECT_EQ(end.code, 3) << end.output;
  EXPECT_THAT(end.output, HasSubstr(shard_ + "' is damaged between bytes 80 and 131152"));
  EXPECT_TRUE(read_rows(out_ + "2").empty());
}

}  // namespace
}  // namespace troika::commands
