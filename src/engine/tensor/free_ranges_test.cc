#include "tensor/free_ranges.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace troika::tensor {
namespace {

void expect_range(Range range, std::uintptr_t begin, std::size_t bytes) {
  EXPECT_EQ(range.begin, begin);
  EXPECT_EQ(range.bytes, bytes);
}

TEST(FreeRanges, GivesTheSmallestThatFitsAndKeepsItsRest) {
  FreeRanges free;
  free.add({1000, 100});
  free.add({2000, 50});
  free.add({3000, 60});
  expect_range(free.take(40), 2000, 40);
  expect_range(free.take(55), 3000, 55);
  expect_range(free.take(100), 1000, 100);
  expect_range(free.take(10), 2040, 10);
  EXPECT_EQ(free.bytes(), 5u);
  EXPECT_EQ(free.take(6).bytes, 0u);
}

TEST(FreeRanges, JoinsNeighboursOnBothSides) {
  FreeRanges free;
  free.add({100, 10});
  free.add({120, 10});
  EXPECT_EQ(free.take(20).bytes, 0u);
  free.add({110, 10});
  expect_range(free.take(30), 100, 30);
  EXPECT_EQ(free.bytes(), 0u);
}

TEST(FreeRanges, CutsAlignedPiecesOutOfTheLargest) {
  FreeRanges free;
  free.add({100, 7});
  free.add({203, 30});
  expect_range(free.take_aligned(100, 8), 208, 24);
  EXPECT_EQ(free.bytes(), 13u);
  EXPECT_EQ(free.take_aligned(8, 8).bytes, 0u);  // 100..107, 203..208 and 232..233 cover none
  expect_range(free.take_largest(), 100, 7);
  expect_range(free.take_largest(), 203, 5);
  expect_range(free.take_largest(), 232, 1);
  EXPECT_EQ(free.take_largest().bytes, 0u);
}

TEST(FreeRanges, NeverGivesAByteTwiceAndEndsWhole) {
  constexpr std::size_t all = 1 << 16;
  FreeRanges free;
  free.add({all, all});
  const base::Philox random(1, "free ranges");
  std::vector<Range> held;
  std::vector<int> owners(all, 0);
  const auto mark = [&](Range r, int change) {
    for (std::size_t i = 0; i < r.bytes; ++i) owners[r.begin - all + i] += change;
  };
  for (std::uint64_t i = 0; i < 4000; ++i) {
    if (random.bits(2 * i) % 2 == 0 || held.empty()) {
      const Range taken = free.take(1 + random.bits(2 * i + 1) % 3000);
      mark(taken, 1);
      if (taken.bytes > 0) held.push_back(taken);
    } else {
      const std::size_t which = random.bits(2 * i + 1) % held.size();
      mark(held[which], -1);
      free.add(held[which]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    ASSERT_EQ(std::count_if(owners.begin(), owners.end(), [](int n) { return n < 0 || n > 1; }), 0) << i;
  }
  for (const Range range : held) free.add(range);
  expect_range(free.take(all), all, all);
}

}  // namespace
}  // namespace troika::tensor
