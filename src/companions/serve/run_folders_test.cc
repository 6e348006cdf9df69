#include "serve/catalog.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary_folder_test_support.h"
#include "sweep/row.h"
#include "sweep/sweep_test_support.h"

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

namespace {

class Sweeps : public testing::Test {
 protected:
  Sweeps() {
    base::write_file_atomic(folder.path() + "/sweep.json",
                            R"({"format": 1, "nnodes": 1, "nproc": 2, "settings": "train:\n  steps: 5\n"})");
    base::write_file_atomic(folder.path() + "/summary.csv",
                            sweep::to_csv({sweep::measured_row(sweep::layout_with(1, 2), 100), sweep::measured_row(sweep::layout_with(2, 1, 1), 900.5),
                                    sweep::unmeasured_row(sweep::layout_with(2, 1), sweep::SweepStatus::failed, "no, not\nthat")}));
  }
  const base::TemporaryFolder folder;
  const NamedFolder sweep{"sweeps/a", folder.path()};
};

TEST_F(Sweeps, AreListedWithTheirBest) {
  const nlohmann::json list = nlohmann::json::parse(sweeps_json({sweep, {"gone", "/no/such/folder"}}));
  EXPECT_EQ(list[0]["name"], "sweeps/a");
  EXPECT_EQ(list[0]["rows"], 3);
  EXPECT_THAT(list[0]["best"].get<std::string>(), testing::HasSubstr("dp 2, zero 1"));
  EXPECT_EQ(list[0]["tokens_per_second"], 900.5);
  EXPECT_EQ(list[1]["rows"], 0);
  EXPECT_TRUE(list[1]["best"].is_null());
}

TEST_F(Sweeps, AreTablesWithNumbersAsNumbers) {
  const nlohmann::json table = nlohmann::json::parse(sweep_json(sweep, base::Language::english));
  EXPECT_EQ(table["settings"], "train:\n  steps: 5\n");
  EXPECT_EQ(table["nproc"], 2);
  ASSERT_EQ(table["rows"].size(), 3u);
  EXPECT_EQ(table["rows"][0]["zero"], 1);
  EXPECT_EQ(table["rows"][0]["tokens_per_second"], 900.5);
  EXPECT_EQ(table["rows"][0]["loss_bits"], "40b1f2a3");
  EXPECT_EQ(table["rows"][0]["schedule"], "1f1b");
  EXPECT_TRUE(table["rows"][2]["tokens_per_second"].is_null());
  EXPECT_EQ(table["rows"][2]["reason"], "no, not\nthat");
}

TEST_F(Sweeps, HaveTheTrainingThatTheyWereForOnceThereIsABest) {
  EXPECT_TRUE(nlohmann::json::parse(sweep_json(sweep, base::Language::english))["training"].is_null());
  base::write_file_atomic(folder.path() + "/best.yaml", "train:\n  steps: 5000\n");
  const nlohmann::json table = nlohmann::json::parse(sweep_json(sweep, base::Language::english));
  EXPECT_EQ(table["training"], "train:\n  steps: 5000\n") << table.dump();
}

TEST_F(Sweeps, ThatAreDamagedAreRefused) {
  base::write_file_atomic(folder.path() + "/summary.csv", "dp,pp\n1,2\n");
  EXPECT_THROW(sweep_json(sweep, base::Language::english), base::DataError);
  EXPECT_EQ(nlohmann::json::parse(sweeps_json({sweep}))[0]["rows"], 0);
}

}  // namespace

}  // namespace troika::serve
