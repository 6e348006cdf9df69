#include "monitor/find_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::monitor {
namespace {

using base::Language;
using ::testing::HasSubstr;

class FindRun : public ::testing::Test {
 protected:
  // A run that changed so many seconds after the first.
  std::string make(const std::string& name, std::int64_t changed) const {
    const std::string run = folder_.path() + "/" + name;
    base::make_directories(run);
    base::write_file_atomic(run + "/metrics.jsonl", "");
    const timespec at{1'700'000'000 + changed, 0};
    const timespec times[2] = {at, at};
    ::utimensat(AT_FDCWD, (run + "/metrics.jsonl").c_str(), times, 0);
    return run;
  }
  std::string refusal(const std::string& path, Language language = Language::english) const {
    try {
      return "found " + find_run(path);
    } catch (const base::ConfigError& error) {
      return error.in(language);
    }
  }

  base::TemporaryFolder folder_;
};

TEST_F(FindRun, TakesARunOrTheNewestBelowAFolder) {
  const std::string old = make("old", 1), newest = make("sweep/runs/new", 3);
  make("other", 2);
  EXPECT_EQ(find_run(old), old);
  EXPECT_EQ(find_run(old + "//"), old);
  EXPECT_EQ(find_run(folder_.path()), newest);
}

TEST_F(FindRun, TakesAFileOfARunThatIsOrWillBeThere) {
  const std::string run = make("a", 1);
  base::make_directories(run + "/logs");
  base::write_file_atomic(run + "/logs/rank-00000.log", "");
  for (const char* file :
       {"/metrics.jsonl", "/logs/rank-00000.log", "/logs", "/run.log", "/records/rank-00003.jsonl", "/later.txt"})
    EXPECT_EQ(find_run(run + file), run) << file;
  base::make_directories(folder_.path() + "/b");
  EXPECT_EQ(find_run(folder_.path() + "/b/metrics.jsonl"), folder_.path() + "/b");
}

TEST_F(FindRun, AnEmptyFolderMayBecomeARun) { EXPECT_EQ(find_run(folder_.path()), folder_.path()); }

TEST_F(FindRun, RefusesWhatIsNoRunAndNamesTheNearest) {
  make("pipeline", 1);
  EXPECT_THAT(
      refusal(folder_.path() + "/pipelin"),
      HasSubstr("there is no run '" + folder_.path() + "/pipelin'; did you mean '" + folder_.path() + "/pipeline'?"));
  EXPECT_THAT(refusal(folder_.path() + "/pipelin", Language::chinese), HasSubstr("没有运行"));
  base::make_directories(folder_.path() + "/texts/deep");
  base::write_file_atomic(folder_.path() + "/texts/a.txt", "x");
  EXPECT_THAT(refusal(folder_.path() + "/texts"), HasSubstr("is not a run and contains none"));
  EXPECT_THAT(refusal(folder_.path() + "/texts/a.txt"), HasSubstr("is not a file of a run"));
}

}  // namespace
}  // namespace troika::monitor
