#include "base/run_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text_files_test_support.h"

namespace troika::base {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int appending = O_WRONLY | O_CREAT | O_APPEND;

std::string refusal_of(const std::string& folder, const std::string& name) {
  return message_of<DataError>([&] { append_in_run(folder, name, "x"); });
}

TEST(RunFiles, AreWrittenAndReadBelowAFolderThatIsALink) {
  const TestFolder all;
  all.write("runs/a/state.json", "{}");
  ASSERT_EQ(::symlink("runs", (all / "link").c_str()), 0);
  append_in_run(all / "link/a", "logs/rank-00000.log", "one\n");
  append_in_run(all / "link/a", "logs/rank-00000.log", "two\n");
  append_in_run(all / "link/a/run.log", "three\n");
  EXPECT_EQ(read_file(all / "runs/a/logs/rank-00000.log"), "one\ntwo\n");
  EXPECT_EQ(text_of_run(all / "link/a", "run.log", 100), "three\n");
  EXPECT_EQ(text_of_run(all / "link/a", "state.json", 2), "{}");
}

TEST(RunFiles, LinksInsideAreNeitherReadNorWrittenThrough) {
  const TestFolder all;
  const std::string mine = all.write("mine/keys", "secret");
  all.write("run/logs/a", "");
  ASSERT_EQ(::symlink(mine.c_str(), (all / "run/run.lock").c_str()), 0);
  ASSERT_EQ(::symlink((all / "mine").c_str(), (all / "run/records").c_str()), 0);
  ASSERT_EQ(::symlink((all / "mine/new").c_str(), (all / "run/logs/dangling").c_str()), 0);
  EXPECT_FALSE(RunFile::open(all / "run", "run.lock"));
  EXPECT_FALSE(RunFile::open(all / "run/run.lock"));
  EXPECT_FALSE(text_of_run(all / "run", "records/keys", 100));
  EXPECT_THAT(refusal_of(all / "run", "run.lock"), HasSubstr("'" + (all / "run/run.lock") + "' is a link"));
  EXPECT_THAT(refusal_of(all / "run", "records/keys"), HasSubstr("'" + (all / "run/records") + "' is a link"));
  EXPECT_THAT(refusal_of(all / "run", "logs/dangling"), HasSubstr("/logs/dangling' is a link"));
  EXPECT_THAT(contents_of(all / "mine"), AllOf(HasSubstr("secret"), testing::Not(HasSubstr("new"))));
}

TEST(RunFiles, PipesAndFoldersAreNoFilesAndKeepNobodyWaiting) {
  const TestFolder run;
  run.write("folder/a", "");
  ASSERT_EQ(::mkfifo((run / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(text_of_run(run.path(), "pipe", 100));
  EXPECT_THAT(refusal_of(run.path(), "pipe"), HasSubstr("/pipe' is a pipe"));
  EXPECT_THAT(refusal_of(run.path(), "folder"), HasSubstr("/folder' is a pipe, a folder"));
  EXPECT_THAT(message_of<DataError>([&] { open_in_run(run / "pipe", O_RDWR | O_CREAT); }), HasSubstr("is a pipe"));
  EXPECT_THAT(message_of<DataError>([&] { read_regular_file(run / "pipe", 100); }), HasSubstr("/pipe' is a pipe"));
  EXPECT_THAT(message_of<DataError>([&] { read_regular_file(run / "absent", 100); }), HasSubstr("No such file"));
}

TEST(RunFiles, NamesThatLeadOutAreRefused) {
  const TestFolder all;
  all.write("run/a", "");
  for (const char* name : {"../b", "/b", "logs/../../b", "", "."}) EXPECT_NE(refusal_of(all / "run", name), "") << name;
  EXPECT_FALSE(file_exists(all / "b"));
  EXPECT_THROW(open_in_run(all / "absent", "a", appending), DataError);
}

TEST(RunFiles, OfMoreBytesThanAreMeantAreRefusedBeforeTheyAreRead) {
  const TestFolder run;
  const std::string large = run.write("state.json", "");
  ASSERT_EQ(::truncate(large.c_str(), off_t{1} << 40), 0);
  const auto sentence = AllOf(HasSubstr(large), HasSubstr("1.00 TiB"), HasSubstr("16.0 MiB"));
  EXPECT_THAT(message_of<DataError>([&] { text_of_run(run.path(), "state.json", most_state_bytes); }), sentence);
  EXPECT_THAT(message_of<DataError>([&] { read_regular_file(large, most_state_bytes); }), sentence);
}

TEST(RunFiles, TellFoldersFromLinksToThem) {
  const TestFolder all;
  all.write("folder/a", "");
  ASSERT_EQ(::symlink("folder", (all / "link").c_str()), 0);
  EXPECT_TRUE(is_plain_folder(all / "folder"));
  EXPECT_FALSE(is_plain_folder(all / "link"));
  EXPECT_FALSE(is_plain_folder(all / "folder/a"));
  EXPECT_TRUE(is_link(all / "link"));
  EXPECT_FALSE(is_link(all / "absent"));
}

}  // namespace
}  // namespace troika::base
