#include "serve/curves.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace troika::serve {
namespace {

using testing::ElementsAre;

constexpr float nothing = std::numeric_limits<float>::quiet_NaN();

// Losses of steps 1, 2, ...; 10 tokens and half a second each.
Columns columns_of(const std::vector<float>& losses) {
  Columns columns;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    ScannedRow row;
    row.step = static_cast<std::int64_t>(i) + 1;
    row.tokens_total = 10 * row.step;
    row.values[static_cast<std::size_t>(Series::loss)] = static_cast<double>(losses[i]);
    row.values[static_cast<std::size_t>(Series::step_seconds)] = 0.5;
    columns.add(row, row.step);
  }
  return columns;
}

TEST(Curves, HaveAColumnForEachStepWhereThereIsRoom) {
  const Curve curve = curve_of(columns_of({3, 2.5F, nothing, 1}), {Series::loss, Axis::step, {}, {}, 4});
  EXPECT_TRUE(curve.exact);
  EXPECT_THAT(curve.x, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(curve.low, ElementsAre(3, 2.5F, testing::IsNan(), 1));
  EXPECT_THAT(curve.mean, ElementsAre(3, 2.5F, testing::IsNan(), 1));
}

TEST(Curves, HaveLeastGreatestAndMeanOfTheFiniteValuesOfAColumn) {
  const float infinite = std::numeric_limits<float>::infinity();
  const Curve curve =
      curve_of(columns_of({1, 2, 3, nothing, 5, infinite, nothing, nothing}), {Series::loss, Axis::step, {}, {}, 3});
  EXPECT_FALSE(curve.exact);
  EXPECT_THAT(curve.x, ElementsAre(3, 5, 8));  // edges at 3.33 and 5.67
  EXPECT_THAT(curve.low, ElementsAre(1, 5, testing::IsNan()));
  EXPECT_THAT(curve.high, ElementsAre(3, 5, testing::IsNan()));
  EXPECT_THAT(curve.mean, ElementsAre(2, 5, testing::IsNan()));
}

TEST(Curves, ShowTheRangeThatIsAskedForWithBothItsEnds) {
  const Columns columns = columns_of({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(curve_of(columns, {Series::loss, Axis::step, 3, 5, 10}).x, ElementsAre(3, 4, 5));
  EXPECT_THAT(curve_of(columns, {Series::loss, Axis::tokens, 30, 50, 10}).x, ElementsAre(30, 40, 50));
  EXPECT_THAT(curve_of(columns, {Series::loss, Axis::time, 1.5, 2.5, 10}).x, ElementsAre(1.5, 2, 2.5));
  EXPECT_TRUE(curve_of(columns, {Series::loss, Axis::step, 20, 30, 10}).x.empty());
  EXPECT_TRUE(curve_of(columns, {Series::loss, Axis::step, 5, 3, 1}).x.empty());
  const Curve wide = curve_of(columns, {Series::loss, Axis::step, -100, 100, 4});
  EXPECT_THAT(wide.x, ElementsAre(8));  // the third of four columns has all
}

TEST(Curves, EveryValueIsInExactlyOneColumn) {
  std::vector<float> losses;
  for (int i = 0; i < 40'000; ++i) losses.push_back(static_cast<float>(i % 977));
  const Columns columns = columns_of(losses);
  const Curve curve = curve_of(columns, {Series::loss, Axis::step, {}, {}, 333});
  ASSERT_EQ(curve.x.size(), 333U);
  double sum = 0, begin = 0;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    EXPECT_LE(curve.low[i], curve.mean[i]);
    EXPECT_GE(curve.high[i], curve.mean[i]);
    sum += static_cast<double>(curve.mean[i]) * (curve.x[i] - begin);
    begin = curve.x[i];
  }
  double all = 0;
  for (const float loss : losses) all += static_cast<double>(loss);
  EXPECT_NEAR(sum, all, 1e-5 * all);
  EXPECT_EQ(curve.x.back(), 40'000);
}

TEST(Curves, AreToldInShortNumbersWithTheWholeRangeOfTheRun) {
  const CurveQuestion question{Series::loss, Axis::step, 2, 3, 10};
  EXPECT_EQ(curve_json("a \"b\"", columns_of({1, 0.1F, nothing, 4}), question),
            R"({"name":"a \"b\"","exact":true,"x":[2,3],"low":[0.1,null],"high":[0.1,null],"mean":[0.1,null],)"
            R"("from":1,"to":4,"steps":4})");
  EXPECT_EQ(curve_json("empty", Columns{}, question),
            R"({"name":"empty","exact":true,"x":[],"low":[],"high":[],"mean":[],"from":null,"to":null,"steps":0})");
  const auto parsed =
      nlohmann::json::parse(curve_json("t", columns_of({1e-30F, 3.4e38F, -2}), {Series::loss, Axis::time, {}, {}, 10}));
  EXPECT_EQ(parsed["x"], (std::vector<double>{0.5, 1, 1.5}));
  EXPECT_EQ(static_cast<float>(parsed["low"][1].get<double>()), 3.4e38F);
}

}  // namespace
}  // namespace troika::serve
