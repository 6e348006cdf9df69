#include "train/run_lock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/temporary_folder_test_support.h"
#include "base/text_files_test_support.h"

namespace troika::train {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of(const std::string& folder, const std::string& run) {
  try {
    const RunLock lock(folder, run, "");
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RunLock, NamesTheProcessThatHasIt) {
  const base::TemporaryFolder folder;
  {
    const RunLock lock(folder.path() + "/run", "a", "");
    EXPECT_THAT(error_of(folder.path() + "/run", "b"),
                AllOf(HasSubstr("another run writes to '" + folder.path() + "/run': process " +
                                std::to_string(::getpid()) + " on host " + base::host_name() + ", since 20"),
                      HasSubstr("choose another --train.out")));
    EXPECT_EQ(error_of(folder.path() + "/run", "a"), "no error");  // another host of the same run
  }
  EXPECT_EQ(error_of(folder.path() + "/run", "b"), "no error");
}

TEST(RunLock, IsNotTakenWhereAnotherLaunchHasTheFolder) {
  const base::TemporaryFolder folder;
  records::FolderLock launcher(records::launch_lock_path(folder.path()));
  ASSERT_TRUE(launcher.take(records::this_process("", "first")));
  EXPECT_THAT(error_of(folder.path(), "b"), HasSubstr("/launch.lock)"));
  { const RunLock of_it(folder.path(), "a", "first"); }
  launcher.release();
  EXPECT_EQ(error_of(folder.path(), "b"), "no error");
}

TEST(RunLock, OfAProcessThatIsStoppedSaysWhatLetsItContinue) {
  const base::TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const RunLock lock(folder.path(), "a", "");
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_THAT(
      error_of(folder.path(), "b"),
      AllOf(HasSubstr(fmt::format("process {} on host {}, since 20", child, base::host_name())),
            HasSubstr(fmt::format("it is stopped: kill -CONT {0} resumes it, kill -KILL {0} ends it; or choose "
                                  "another --train.out",
                                  child))));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(error_of(folder.path(), "b"), "no error");
}

TEST(RunLock, SeesThatAnotherRunHasTakenTheFolderOver) {
  const base::TemporaryFolder folder;
  RunLock first(folder.path(), "a", "");
  EXPECT_TRUE(first.look().empty());
  EXPECT_TRUE(first.note_of_missing_locks().empty());
  base::remove_tree(folder.path() + "/run.lock");
  {
    const RunLock second(folder.path(), "b", "");
    EXPECT_THAT(base::message_of<base::ConfigError>([&] { first.look(); }),
                AllOf(HasSubstr("another run has taken over '" + folder.path() + "': process " +
                                std::to_string(::getpid()) + " on host " + base::host_name()),
                      HasSubstr("this one ends")));
  }
  EXPECT_THROW(first.look(), base::ConfigError) << "the other has written there, and ended";
}

TEST(RunLock, WhoseFileIsRemovedIsMadeAgainAndSaysSo) {
  const base::TemporaryFolder folder;
  const std::string run = folder.path() + "/run";
  RunLock lock(run, "a", "");
  base::remove_tree(run + "/run.lock");
  EXPECT_THAT(lock.look().english, HasSubstr("run.lock' was removed during this run and is created again"));
  EXPECT_TRUE(lock.look().empty());
  EXPECT_THAT(error_of(run, "b"), HasSubstr("another run writes to"));
  base::rename_path(run, folder.path() + "/elsewhere");
  EXPECT_THAT(lock.look().english, HasSubstr("if the whole folder was moved"));
  EXPECT_THAT(error_of(run, "b"), HasSubstr("another run writes to"));
}

TEST(RunLock, GoesWithItsProcess) {
  const base::TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const RunLock lock(folder.path(), "a", "");
    ::_exit(0);  // without its destructor
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_THAT(base::read_file(folder.path() + "/run.lock"), HasSubstr(std::to_string(child)));
  EXPECT_EQ(error_of(folder.path(), "b"), "no error");
}

}  // namespace

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
    EXPECT_THAT(refusal_of(run.path()),
                AllOf(HasSubstr("'" + (run / name) + "' is a link to '" + file + "'"), HasSubstr("remove the link")));
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
  EXPECT_THAT(refusal_of(third.path()), HasSubstr("checkpoints' is a file, but a run needs a folder there"));
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
