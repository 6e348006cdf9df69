#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mapping_guard.h"
#include "base/text_files_test_support.h"
#include "data/prepare.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {
namespace {
using testing::HasSubstr;

TEST(Prepare, LeavesNothingBehindWhenTheInputIsBad) {
  const base::TestFolder folder;
  folder.write("in/a.txt", "good");
  folder.write("in/b.jsonl", "{\"text\": \"good\"}\nbad\n");
  EXPECT_THAT(base::message_of<base::DataError>(
                  [&] { prepare({folder / "in"}, tokenizer::ByteTokenizer(), folder / "out", {}, {}); }),
              HasSubstr("line 2 of"));
  EXPECT_THAT(base::list_directory(folder.path()), testing::ElementsAre("in"));
}

TEST(Prepare, SaysSoWhenAllDocumentsAreEmpty) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.jsonl", "{\"text\": \"\"}\n\n");
  EXPECT_THAT(
      base::message_of<base::DataError>([&] { prepare({path}, tokenizer::ByteTokenizer(), folder / "out", {}, {}); }),
      HasSubstr("holds no text"));
}

TEST(PrepareOnce, MakesADamagedOrHalfWrittenCacheAnew) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.txt", "some text"), cache = folder / "cache";
  const std::string fingerprint = prepare_once({path}, tokenizer::ByteTokenizer(), cache, {}, {})->fingerprint();
  const std::string key = base::list_directory(cache).at(0), shard = cache + "/" + key + "/tokens-00000.bin";
  const std::string sound = base::read_file(shard);
  const auto prepares_again = [&] {
    int calls = 0;
    const auto stream = prepare_once({path}, tokenizer::ByteTokenizer(), cache, {}, [&](const Progress&) { ++calls; });
    EXPECT_EQ(stream->fingerprint(), fingerprint);
    EXPECT_EQ(base::read_file(shard), sound);
    return calls == 1;
  };
  base::write_file_atomic(shard, sound.substr(0, 90));
  EXPECT_TRUE(prepares_again());
  base::write_file_atomic(shard, sound.substr(0, 82) + "#" + sound.substr(83));
  EXPECT_TRUE(prepares_again());
  base::remove_tree(cache + "/" + key + "/index.json");
  folder.write("cache/" + key + ".partial.1/tokens-00000.bin", "left by a process that was killed");
  EXPECT_TRUE(prepares_again());
  EXPECT_THAT(base::list_directory(cache), testing::ElementsAre(key, key + ".lock"));
  EXPECT_FALSE(prepares_again());
}

// A corpus of six chunks; a process is killed when three have been written.
TEST(PrepareOnce, GoesOnWhereAKilledProcessStood) {
  const base::TestFolder folder;
  const std::string text = base::source_like_text(250000, 5), path = folder.write("a.txt", text);
  ASSERT_GT(text.size(), std::size_t{5} << 20);
  PrepareOptions options;
  options.workers = 1;
  const std::string sound =
      prepare_once({path}, tokenizer::ByteTokenizer(), folder / "whole", options, {})->fingerprint();
  const pid_t child = ::fork();
  if (child == 0) {
    prepare_once({path}, tokenizer::ByteTokenizer(), folder / "cut", options, [](const Progress& progress) {
      if (progress.done_bytes > 3 << 20) ::raise(SIGKILL);
    });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  Progress last;
  const auto stream =
      prepare_once({path}, tokenizer::ByteTokenizer(), folder / "cut", options, [&](const Progress& p) { last = p; });
  EXPECT_EQ(stream->fingerprint(), sound);
  EXPECT_GE(last.parts_reused, 3);
  const std::string key = base::list_directory(folder / "cut").at(0);
  EXPECT_THAT(base::list_directory(folder / "cut"), testing::ElementsAre(key, key + ".lock"));
}

TEST(PrepareOnce, NamesATextThatIsCutWhileItIsTokenizedAndKeepsNothingOfIt) {
  const base::MappingGuard guard;
  const base::TestFolder folder;
  for (const std::string name : {"a.txt", "a.jsonl"}) {
    std::string content = base::random_text("abcdefg ", std::size_t{12} << 20, 3);
    for (std::size_t at = 0; name == "a.jsonl" && at + 1000 < content.size(); at += 1000)
      content.replace(at, 1000, "{\"text\": \"" + content.substr(at, 987) + "\"}\n");
    if (name == "a.jsonl") content.resize(content.size() / 1000 * 1000);
    const std::string path = folder.write(name, content);
    PrepareOptions options;
    options.workers = 1;
    const auto cut = [&](const Progress&) { ASSERT_EQ(::truncate(path.c_str(), 8192), 0); };
    EXPECT_THAT(base::message_of<base::DataError>(
                    [&] { prepare_once({path}, tokenizer::ByteTokenizer(), folder / "cut", options, cut); }),
                testing::AllOf(HasSubstr(path), HasSubstr("truncated to 8192 of its")));
    for (const std::string& left : base::list_directory(folder / "cut")) EXPECT_THAT(left, testing::EndsWith(".lock"));
  }
}

// A folder in the way of the shard simulates a disk that refuses, whatever user runs the test.
TEST(PrepareOnce, KeepsWhatIsTokenizedWhereTheDiskRefuses) {
  const base::TestFolder folder;
  const std::string path = folder.write("a.txt", base::source_like_text(500000, 5));
  PrepareOptions options;
  options.workers = 1;
  const auto prepare_it = [&](const OnProgress& on_progress) {
    return prepare_once({path}, tokenizer::ByteTokenizer(), folder / "cache", options, on_progress);
  };
  std::string way;
  const auto put_in_the_way = [&](const Progress& progress) {
    if (progress.done_bytes < 3 << 20 || !way.empty()) return;
    for (const std::string& name : base::list_directory(folder / "cache"))
      if (name.find(".parts.") != std::string::npos) way = folder / "cache/" + name;
    way += "/part-00000008";  // beyond the four chunks that are under way behind the three that are told of
    base::remove_tree(way);
    base::make_directories(way + "/full");
  };
  EXPECT_THAT(base::message_of<base::DataError>([&] { prepare_it(put_in_the_way); }),
              testing::AllOf(HasSubstr("free some space"), HasSubstr("the same command continues there")));
  base::remove_tree(way);
  Progress last;
  prepare_it([&](const Progress& progress) { last = progress; });
  EXPECT_GE(last.parts_reused, 3);
}

TEST(OpenShards, NamesTruncatedOnesThatWereGivenByPath) {
  const base::TestFolder folder;
  prepare({folder.write("a.txt", "some text")}, tokenizer::ByteTokenizer(), folder / "out", {}, {});
  const std::string shard = folder / "out/tokens-00000.bin";
  base::write_file_atomic(shard, base::read_file(shard).substr(0, 95));
  for (const std::string& path : {folder / "out", shard}) {
    const auto open = [&] { open_shards(path, tokenizer::ByteTokenizer()); };
    EXPECT_THAT(base::message_of<base::DataError>(open), testing::AllOf(HasSubstr(shard), HasSubstr("truncated")));
  }
}

}  // namespace
}  // namespace troika::data
