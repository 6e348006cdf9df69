#include "train/own_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text_files_test_support.h"

namespace troika::train {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal_of(const std::string& folder, const std::string& cache = "") {
  config::Settings settings;
  settings.train.out = folder;
  settings.data.cache = cache;
  settings.log.tensorboard = "on";
  return base::message_of<base::ConfigError>([&] { check_own_folder(settings); });
}

TEST(OwnFolder, LinksThatARunWouldWriteThroughAreRefusedByName) {
  const base::TestFolder folder;
  const std::string file = folder.write("elsewhere/file", "mine");
  for (const char* name : {"run.lock", "events.jsonl", "run.log", "metrics.jsonl", "state.json", "config.yaml",
                           "logs/rank-00000.log", "records/rank-00001.jsonl", "logs/on-event.log"}) {
    const base::TestFolder run;
    run.write("logs/rank-00007.log", "");
    run.write("records/rank-00007.jsonl", "");
    ASSERT_EQ(::symlink(file.c_str(), (run / name).c_str()), 0);
    EXPECT_THAT(refusal_of(run.path()), AllOf(HasSubstr("'" + (run / name) + "' is a link to '" + file + "'"),
                                              HasSubstr("remove the link")));
  }
  for (const char* name : {"checkpoints", "logs", "records", "timeline", "tokenizer", "data", "tensorboard"}) {
    const base::TestFolder run;
    ASSERT_EQ(::symlink((folder / "elsewhere").c_str(), (run / name).c_str()), 0);
    EXPECT_THAT(refusal_of(run.path()), HasSubstr("'" + (run / name) + "' is a link to '" + (folder / "elsewhere")));
  }
}

TEST(OwnFolder, PipesAndFoldersInPlaceOfFilesAreRefused) {
  const base::TestFolder run;
  ASSERT_EQ(::mkfifo((run / "events.jsonl").c_str(), 0600), 0);
  EXPECT_THAT(refusal_of(run.path()), HasSubstr("events.jsonl' is a pipe"));
  const base::TestFolder other;
  other.write("state.json/file", "");
  EXPECT_THAT(refusal_of(other.path()), HasSubstr("state.json' is a pipe, a folder"));
  const base::TestFolder third;
  third.write("checkpoints", "");
  EXPECT_THAT(refusal_of(third.path()), HasSubstr("checkpoints' is a file where a run keeps a folder"));
}

TEST(OwnFolder, MayBeALinkItselfAndHoldLinksOfItsUser) {
  const base::TestFolder folder;
  const std::string file = folder.write("run/logs/rank-00000.log", "");
  folder.write("run/metrics.jsonl", "");
  ASSERT_EQ(::symlink("run", (folder / "link").c_str()), 0);
  ASSERT_EQ(::symlink(file.c_str(), (folder / "run/notes").c_str()), 0);
  EXPECT_EQ(refusal_of(folder / "link"), "");
  EXPECT_EQ(refusal_of(folder / "absent"), "");
  ASSERT_EQ(::symlink("/tmp", (folder / "run/data").c_str()), 0);
  EXPECT_EQ(refusal_of(folder / "run", "/a/cache"), "") << "the run does not write there";
}

}  // namespace
}  // namespace troika::train
