#include "serve/run_folders.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary_folder_test_support.h"

namespace troika::serve {
namespace {
using testing::ElementsAre;

class RunFoldersBelow : public testing::Test {
 protected:
  void file(const std::string& path) const {
    const std::string full = folder.path() + "/" + path;
    base::make_directories(full.substr(0, full.rfind('/')));
    base::write_file_atomic(full, "x");
  }
  std::vector<std::string> runs() const { return names_of(run_folders_below(folder.path()).runs); }
  static std::vector<std::string> names_of(const std::vector<NamedFolder>& folders) {
    std::vector<std::string> names;
    for (const NamedFolder& one : folders) names.push_back(one.name);
    return names;
  }

  const base::TemporaryFolder folder;
};

TEST_F(RunFoldersBelow, AreNamedByTheirPathAndFourLevelsDeep) {
  file("b/metrics.jsonl");
  file("a/state.json");
  file("sweep/sweep.json");
  file("sweep/host-1/runs/one/logs/rank-00001.log");
  file("new/launch.yaml");
  file("1/2/3/4/5/state.json");
  file("a/inside/state.json");
  file("text/notes.txt");
  EXPECT_THAT(runs(), ElementsAre("a", "b", "new", "sweep/host-1/runs/one"));
  EXPECT_THAT(names_of(run_folders_below(folder.path()).sweeps), ElementsAre("sweep"));
}

TEST_F(RunFoldersBelow, AreNotBehindLinks) {
  const base::TemporaryFolder elsewhere;
  base::make_directories(elsewhere.path() + "/other");
  base::write_file_atomic(elsewhere.path() + "/other/state.json", "{}");
  ASSERT_EQ(::symlink((elsewhere.path() + "/other").c_str(), (folder.path() + "/link").c_str()), 0);
  base::make_directories(folder.path() + "/file");
  ASSERT_EQ(::symlink((elsewhere.path() + "/other/state.json").c_str(), (folder.path() + "/file/state.json").c_str()),
            0);
  EXPECT_THAT(runs(), ElementsAre());
  ASSERT_EQ(::mkfifo((folder.path() + "/file/metrics.jsonl").c_str(), 0600), 0);
  EXPECT_FALSE(is_served_run(folder.path() + "/file"));
}

TEST_F(RunFoldersBelow, HaveNamesThatCanBeShown) {
  file(".hidden/state.json");
  file("bad\xff/state.json");
  file("line\nend/state.json");
  file("模型 1/state.json");
  EXPECT_THAT(runs(), ElementsAre("模型 1"));
}

TEST_F(RunFoldersBelow, MayBeTheFolderItself) {
  file("state.json");
  file("below/state.json");
  const std::string path = folder.path();
  EXPECT_THAT(runs(), ElementsAre(path.substr(path.rfind('/') + 1)));
  EXPECT_THAT(names_of(run_folders_below(path + "/absent").runs), ElementsAre());
}

}  // namespace
}  // namespace troika::serve
