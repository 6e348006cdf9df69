#include "probe/least_squares.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika::probe {
namespace {

TEST(LeastSquares, FindMadeUpCoefficientsExactlyThoughTheyDifferByTwelveOrders) {
  const std::vector<double> truth{5e-6, 1 / 80e9, 1 / 12e9};
  std::vector<Equation> equations;
  for (const double M : {64.0, 256.0, 1024.0, 2048.0}) {
    for (const double K : {128.0, 512.0, 4096.0}) {
      const std::vector<double> terms{1, 2 * M * K * 512, 4 * (M * K + K * 512 + M * 512)};
      equations.push_back({terms, terms[0] * truth[0] + terms[1] * truth[1] + terms[2] * truth[2]});
    }
  }
  const std::vector<double> x = non_negative_least_squares(equations);
  for (std::size_t j = 0; j < truth.size(); ++j) EXPECT_NEAR(x[j] / truth[j], 1, 1e-8) << j;
}

TEST(LeastSquares, GiveNoNegativeCoefficientWhereThatWouldFitBetter) {
  // Without the bound x = (2, -1).
  const std::vector<Equation> equations{{{1, 0.5}, 1.5}, {{1, 1}, 1}, {{2, 3}, 1}};
  const std::vector<double> x = non_negative_least_squares(equations);
  EXPECT_GT(x[0], 0);
  EXPECT_EQ(x[1], 0);
}

TEST(LeastSquares, WeighErrorsByTheValueSoThatSmallOnesCount) {
  // One unknown, two measurements that contradict each other: relative errors of 1/x and 2/x meet in the middle.
  const std::vector<double> x = non_negative_least_squares({{{1}, 1}, {{1000}, 2000}});
  EXPECT_NEAR(x[0], (1 + 0.5) / (1 + 0.25), 1e-12);
}

TEST(LeastSquares, LeaveAnUnknownThatNoEquationHasAtZero) {
  EXPECT_EQ(non_negative_least_squares({{{2, 0}, 4}, {{3, 0}, 6}}), (std::vector<double>{2, 0}));
}

TEST(LeastSquares, RefuseRowsOfDifferentLengths) {
  EXPECT_THROW(non_negative_least_squares({{{1, 2}, 1}, {{1}, 1}}), base::BugError);
}

}  // namespace
}  // namespace troika::probe
