#include "serve/sweeps.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/temporary_folder_test_support.h"
#include "sweep/summary_csv.h"
#include "sweep/sweep_test_support.h"

namespace troika::serve {
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
  const nlohmann::json table = nlohmann::json::parse(sweep_json(sweep));
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
  EXPECT_TRUE(nlohmann::json::parse(sweep_json(sweep))["training"].is_null());
  base::write_file_atomic(folder.path() + "/best.yaml", "train:\n  steps: 5000\n");
  const nlohmann::json table = nlohmann::json::parse(sweep_json(sweep));
  EXPECT_EQ(table["training"], "train:\n  steps: 5000\n") << table.dump();
}

TEST_F(Sweeps, ThatAreDamagedAreRefused) {
  base::write_file_atomic(folder.path() + "/summary.csv", "dp,pp\n1,2\n");
  EXPECT_THROW(sweep_json(sweep), base::DataError);
  EXPECT_EQ(nlohmann::json::parse(sweeps_json({sweep}))[0]["rows"], 0);
}

}  // namespace
}  // namespace troika::serve
