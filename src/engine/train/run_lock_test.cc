#include "train/run_lock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
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
            HasSubstr(fmt::format("it is stopped: kill -CONT {0} lets it continue, kill -KILL {0} ends it; or choose "
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
                AllOf(HasSubstr("another run has taken '" + folder.path() + "' over: process " +
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
  EXPECT_THAT(lock.look().english, HasSubstr("run.lock' was removed under this run and is made again"));
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
}  // namespace troika::train
