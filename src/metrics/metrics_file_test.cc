#include "metrics/metrics_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::metrics {

static std::string fresh_path(const std::string& name) {
  const std::string folder = base::temporary_folder() + "/metrics_file/" + name;
  base::remove_tree(folder);
  base::make_directories(folder);
  return folder + "/metrics.jsonl";
}

static StepMetrics row(std::int64_t step) {
  StepMetrics m;
  m.step = step;
  m.loss = 1.0 / static_cast<double>(step);
  return m;
}

static std::vector<std::int64_t> steps(const MetricsFile& file) {
  std::vector<std::int64_t> result;
  for (const StepMetrics& m : file.read()) result.push_back(m.step);
  return result;
}

TEST(MetricsFile, AppendsOneLinePerStepAndReadsBack) {
  const std::string path = fresh_path("append");
  const MetricsFile file(path);
  EXPECT_TRUE(file.read().empty());
  for (int step = 1; step <= 3; ++step) file.append(row(step));
  EXPECT_EQ(steps(file), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(base::read_file(path), to_json(row(1)) + "\n" + to_json(row(2)) + "\n" + to_json(row(3)) + "\n");
}

TEST(MetricsFile, CutDropsLaterRowsSoThatEachStepStandsOnce) {
  const MetricsFile file(fresh_path("cut"));
  for (int step = 1; step <= 5; ++step) file.append(row(step));
  file.cut_after(3);
  EXPECT_EQ(steps(file), (std::vector<std::int64_t>{1, 2, 3}));
  file.append(row(4));
  EXPECT_EQ(steps(file), (std::vector<std::int64_t>{1, 2, 3, 4}));
  file.cut_after(0);
  EXPECT_TRUE(file.read().empty());
}

TEST(MetricsFile, TornLastLineIsLeftOutAndDroppedByTheCut) {
  const std::string path = fresh_path("torn");
  const MetricsFile file(path);
  file.append(row(1));
  const std::string whole = base::read_file(path);
  base::append_file(path, to_json(row(2)).substr(0, 20));
  EXPECT_EQ(steps(file), (std::vector<std::int64_t>{1}));
  file.cut_after(10);
  EXPECT_EQ(base::read_file(path), whole);
}

TEST(MetricsFile, CutOfAnAbsentFileLeavesItAbsent) {
  const std::string path = fresh_path("absent");
  MetricsFile(path).cut_after(1);
  EXPECT_FALSE(base::file_exists(path));
}

TEST(MetricsFile, DamageInTheMiddleIsADataError) {
  const std::string path = fresh_path("damage");
  base::append_file(path, to_json(row(1)) + "\nnonsense\n" + to_json(row(2)) + "\n");
  EXPECT_THROW(MetricsFile(path).read(), base::DataError);
  EXPECT_THROW(MetricsFile(path).cut_after(1), base::DataError);
}

}  // namespace troika::metrics
