#include "cpu/grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

std::vector<float> wide_values(std::int64_t count) {
  std::vector<float> x(static_cast<std::size_t>(count));
  base::Philox(3, "grid").fill_normal(0, count, x.data());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(x[i], static_cast<int>(i % 61) - 50);
  return x;
}

TEST(Grid, EveryTargetHasTheBitsOfTheScalarFormula) {
  for (const std::int64_t count : {1, 7, 16, 33, 70001}) {
    const std::vector<float> x = wide_values(count);
    for (const int shift : {50, 3, -20}) {
      std::vector<std::int64_t> want;
      for (const float g : x)
        want.push_back(static_cast<std::int64_t>(std::nearbyint(std::ldexp(static_cast<double>(g), shift))));
      on_every_target([&] {
        std::vector<std::int64_t> sum(x.size(), -1);
        const std::uint32_t largest = set_integers(count, sum.data(), x.data(), shift);
        EXPECT_EQ(sum, want);
        EXPECT_EQ(add_integers(count, sum.data(), x.data(), shift), largest);
        std::vector<float> rounded = x, back(x.size());
        EXPECT_EQ(round_to_grid(count, rounded.data(), shift), largest);
        for (std::size_t i = 0; i < x.size(); ++i) {
          EXPECT_EQ(sum[i], 2 * want[i]);
          EXPECT_EQ(rounded[i], static_cast<float>(std::ldexp(static_cast<double>(want[i]), -shift)));
        }
        from_integers(count, sum.data(), shift, back.data());
        for (std::size_t i = 0; i < x.size(); ++i)
          EXPECT_EQ(back[i], static_cast<float>(std::ldexp(static_cast<double>(2 * want[i]), -shift)));
      });
    }
  }
}

TEST(Grid, TheLargestMagnitudeIsThatOfAllPieces) {
  std::vector<float> x(200000, 0.5f);
  std::vector<std::int64_t> sum(x.size());
  x[150001] = -3.0f;
  on_every_target([&] { EXPECT_EQ(set_integers(200000, sum.data(), x.data(), 10), 0x40400000U); });
}

}  // namespace
}  // namespace troika::cpu
