#include "metrics/step_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::metrics {

static StepMetrics example() {
  StepMetrics m;
  m.step = 3;
  m.loss = 5.54517745971679688;
  m.loss_bits = bits_of(5.54517745971679688F);
  m.grad_norm = 1.0 / 3;
  m.lr = 3e-4;
  m.tokens = 768;
  m.tokens_total = 2304;
  m.step_seconds = 0.25;
  m.tokens_per_second = 3072;
  m.memory_bytes = 123456789;
  return m;
}

TEST(StepMetrics, LineHasTheKeysInOrderWithNineDigits) {
  EXPECT_EQ(
      to_json(example()),
      R"({"step": 3, "loss": 5.54517746, "loss_bits": "40b17218", "grad_norm": 0.333333333, "lr": 0.0003, "tokens": 768, )"
      R"("tokens_total": 2304, "step_seconds": 0.25, "tokens_per_second": 3072, "memory_bytes": 123456789})");
}

TEST(StepMetrics, NineDigitsGiveTheSameFloatBack) {
  for (std::uint32_t i = 0; i < 20000; ++i) {
    StepMetrics m = example();
    const float loss = 1e-3F + static_cast<float>(i) * 7.77e-4F;
    m.loss = loss;
    m.loss_bits = bits_of(loss);
    const StepMetrics back = parse_step_metrics(to_json(m), "line");
    ASSERT_EQ(bits_of(static_cast<float>(back.loss)), back.loss_bits) << loss;
  }
}

TEST(StepMetrics, ExtraNumbersFollowInNameOrderAndReadBack) {
  StepMetrics m = example();
  m.extra = {{"z", 2}, {"bubble", 0.125}, {"loss_scale", 1099511627776.0}, {"third", 1.0 / 3}};
  const std::string line = to_json(m);
  EXPECT_THAT(
      line, testing::EndsWith(R"("bubble": 0.125, "loss_scale": 1099511627776, "third": 0.3333333333333333, "z": 2})"));
  EXPECT_EQ(parse_step_metrics(line, "line").extra, m.extra);
}

TEST(StepMetrics, LossThatIsNotFiniteIsNullAndKeepsItsBits) {
  StepMetrics m = example();
  m.loss = std::numeric_limits<double>::infinity();
  m.loss_bits = bits_of(std::numeric_limits<float>::infinity());
  const std::string line = to_json(m);
  EXPECT_THAT(line, testing::HasSubstr(R"("loss": null, "loss_bits": "7f800000")"));
  EXPECT_TRUE(std::isnan(parse_step_metrics(line, "line").loss));
}

TEST(StepMetrics, BadLinesAreDataErrorsThatNameTheOrigin) {
  for (const char* line : {"{", "{}", "[]", R"({"step": "1"})", R"({"step": 1, "loss": 2, "loss_bits": "xyz"})"}) {
    try {
      parse_step_metrics(line, "line 7");
      FAIL() << line;
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("line 7"));
    }
  }
}

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

TEST(MetricsFile, ZeroBytesThatALossOfPowerLeavesAreLeftOut) {
  const std::string path = fresh_path("zeros");
  const MetricsFile file(path);
  file.append(row(1));
  const std::string whole = base::read_file(path);
  base::append_file(path, std::string(300, '\0'));
  EXPECT_EQ(steps(file), (std::vector<std::int64_t>{1}));
  base::append_file(path, "\n");
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
