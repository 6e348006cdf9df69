#include "cpu/grid.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/random.h"
#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

using Block = std::array<std::int64_t, packed_block>;
using Words = std::array<std::uint64_t, packed_block>;

// Multiples of 2^shift with about so many bits above it.
Block block_of(int bits, int shift) {
  Block x{};
  std::array<float, packed_block> normal{};
  base::Philox(5, "packed").fill_normal(0, packed_block, normal.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = static_cast<double>(normal[i]) * static_cast<double>(std::int64_t{1} << bits) / 8;
    x[i] = static_cast<std::int64_t>(value) * (std::int64_t{1} << shift);
  }
  return x;
}

void expect_back(const Block& x) {
  const BlockFormat format = block_format(x.data());
  Words words{};
  pack_block(x.data(), format, words.data());
  Block sum{}, want{};
  sum.fill(3);
  for (std::size_t i = 0; i < x.size(); ++i) want[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(x[i]) + 3);
  add_block(words.data(), format, sum.data());
  EXPECT_EQ(sum, want);
}

TEST(PackedIntegers, ComeBackOnEveryTargetAndHaveTheSameWords) {
  for (const int bits : {4, 23, 24, 31, 44, 45}) {
    for (const int shift : {0, 1, 17}) {
      const Block x = block_of(bits, shift);
      const BlockFormat first = block_format(x.data());
      EXPECT_GE(first.shift, shift);
      Words want{};
      pack_block(x.data(), first, want.data());
      on_every_target([&] {
        const BlockFormat format = block_format(x.data());
        EXPECT_EQ(format.width, first.width);
        EXPECT_EQ(format.shift, first.shift);
        Words words{};
        pack_block(x.data(), format, words.data());
        EXPECT_EQ(words, want);
        expect_back(x);
      });
    }
  }
}

TEST(PackedIntegers, OfAllMagnitudesComeBack) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{-4096}, least, most}) {
    Block x{};
    x[77] = value;
    on_every_target([&] { expect_back(x); });
    x.fill(value);
    on_every_target([&] { expect_back(x); });
    x[200] = ~value;
    on_every_target([&] { expect_back(x); });
  }
}

TEST(PackedIntegers, TakeTheBitsThatDiffer) {
  Block x{};
  EXPECT_EQ(block_format(x.data()).width, 0);
  x.fill(-4096);
  EXPECT_EQ(block_format(x.data()).width, 1);
  EXPECT_EQ(block_format(x.data()).shift, 12);
  x.fill(0);
  x[0] = std::int64_t{1} << 43;
  x[1] = 1 << 10;
  EXPECT_EQ(block_format(x.data()).width, 35);  // bits 10 to 43 and the sign
}

}  // namespace
}  // namespace troika::cpu
