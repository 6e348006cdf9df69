#include "tensor/page_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/random.h"

namespace troika::tensor {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

void* filled(PageCache& cache, std::size_t bytes) {
  void* data = cache.allocate(bytes);
  EXPECT_NE(data, nullptr);
  std::memset(data, 1, bytes);
  return data;
}

TEST(PageCache, GivesAlignedBlocksThatCanBeWritten) {
  PageCache cache;
  for (const std::size_t bytes : {std::size_t{1}, mebibyte, 3 * mebibyte + 1}) {
    void* data = filled(cache, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % (64 << 10), 0u);
    EXPECT_TRUE(cache.release(data));
  }
  EXPECT_EQ(cache.live_bytes(), 0u);
}

TEST(PageCache, KnowsItsOwnBlocksOnly) {
  PageCache cache;
  int elsewhere = 0;
  EXPECT_FALSE(cache.release(&elsewhere));
  EXPECT_FALSE(cache.release(nullptr));
  void* data = cache.allocate(mebibyte);
  EXPECT_TRUE(cache.release(data));
  EXPECT_FALSE(cache.release(data));
}

TEST(PageCache, GivesAFreedBlockAgainWithItsPages) {
  PageCache cache;
  auto* first = static_cast<char*>(filled(cache, 64 * mebibyte));
  cache.release(first);
  auto* again = static_cast<char*>(cache.allocate(64 * mebibyte));
  ASSERT_EQ(again, first);
  EXPECT_EQ(std::count(again, again + 64 * mebibyte, 1), 64 * mebibyte);
  EXPECT_EQ(cache.fresh_bytes(), 64 * mebibyte);
}

TEST(PageCache, SplitsAndJoinsWhatIsFree) {
  PageCache cache;
  void* whole = cache.allocate(16 * mebibyte);
  cache.release(whole);
  void* left = cache.allocate(6 * mebibyte);
  void* right = cache.allocate(10 * mebibyte);
  EXPECT_EQ(left, whole);
  EXPECT_EQ(right, static_cast<char*>(whole) + 6 * mebibyte);
  cache.release(left);
  cache.release(right);
  EXPECT_EQ(cache.allocate(16 * mebibyte), whole);
  EXPECT_EQ(cache.held_bytes(), 16 * mebibyte);
}

TEST(PageCache, MakesOneRangeOfPiecesInsteadOfHoldingMore) {
  PageCache cache;
  std::vector<char*> pieces;
  for (int i = 0; i < 32; ++i) pieces.push_back(static_cast<char*>(filled(cache, 4 * mebibyte)));
  for (std::size_t i = 0; i < pieces.size(); i += 2) cache.release(pieces[i]);
  auto* large = static_cast<char*>(cache.allocate(64 * mebibyte));
  std::size_t moved_bytes = 0;  // pages still filled, as they were in the pieces
  for (std::size_t byte = 0; byte < 64 * mebibyte; byte += 4096) moved_bytes += large[byte] == 1 ? 4096 : 0;
  EXPECT_GE(moved_bytes, 56 * mebibyte);
  EXPECT_LE(cache.held_bytes(), 128 * mebibyte + PageCache::slack_bytes);
  std::memset(large, 2, 64 * mebibyte);
  for (std::size_t i = 1; i < pieces.size(); i += 2) {
    for (std::size_t byte = 0; byte < 4 * mebibyte; byte += 4096)
      ASSERT_EQ(pieces[i][byte], 1) << "a block in use was moved";
  }
}

TEST(PageCache, HoldsNoMoreThanTheMostInUseAndALittle) {
  PageCache cache;
  const base::Philox random(5, "page cache");
  std::vector<void*> held;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    if (random.bits(2 * i) % 2 == 0 || held.empty()) {
      held.push_back(cache.allocate((1 + random.bits(2 * i + 1) % 40) * mebibyte / 2));
    } else {
      const std::size_t which = random.bits(2 * i + 1) % held.size();
      cache.release(held[which]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    ASSERT_LE(cache.held_bytes(), cache.peak_live_bytes() + PageCache::slack_bytes) << i;
  }
  for (void* data : held) cache.release(data);
  EXPECT_EQ(cache.live_bytes(), 0u);
}

// Sizes and order as of a training step: what is saved forward goes backward, beside buffers that come and go. Returns how
// many bytes it asked for.
std::size_t step(PageCache& cache) {
  std::size_t asked = 0;
  const auto ask = [&](std::size_t bytes) {
    asked += bytes;
    return filled(cache, bytes);
  };
  std::vector<void*> saved;
  for (std::size_t layer = 0; layer < 6; ++layer) {
    for (const std::size_t halves : {3, 3, 9, 5, 12}) saved.push_back(ask(halves * mebibyte / 2));
    cache.release(ask(11 * mebibyte));
  }
  void* logits = ask(33 * mebibyte);
  for (; !saved.empty(); saved.pop_back()) {
    void* gradient = ask((2 + saved.size() % 5) * mebibyte);
    EXPECT_TRUE(cache.release(saved.back()));
    cache.release(gradient);
  }
  cache.release(logits);
  return asked;
}

// Pages are moved whole, so a little of a new range is fresh, and as much is given back.
TEST(PageCache, TakesNextToNothingFromTheSystemAfterTheFirstStep) {
  PageCache cache;
  step(cache);
  const std::size_t before = cache.fresh_bytes();
  std::size_t asked = 0;
  for (int i = 0; i < 10; ++i) asked += step(cache);
  EXPECT_LE(cache.fresh_bytes() - before, asked / 40);
}

TEST(PageCache, RefusesWhatNoMachineHasAndGoesOn) {
  PageCache cache;
  void* data = filled(cache, 8 * mebibyte);
  cache.release(data);
  EXPECT_EQ(cache.allocate(SIZE_MAX - 5), nullptr);
  EXPECT_EQ(cache.allocate(std::size_t{1} << 60), nullptr);
  EXPECT_EQ(cache.held_bytes(), 0u);  // it gave back what it had before it gave up
  EXPECT_NE(filled(cache, 8 * mebibyte), nullptr);
}

TEST(PageCache, ServesSeveralThreads) {
  PageCache cache;
  const auto work = [&cache](int value) {
    for (int i = 0; i < 200; ++i) {
      const std::size_t bytes = (1 + static_cast<std::size_t>(i * (value + 3) % 7)) * mebibyte;
      auto* data = static_cast<char*>(cache.allocate(bytes));
      for (std::size_t byte = 0; byte < bytes; byte += 4096) data[byte] = static_cast<char>(value);
      for (std::size_t byte = 0; byte < bytes; byte += 4096) ASSERT_EQ(data[byte], static_cast<char>(value));
      cache.release(data);
    }
  };
  std::vector<std::thread> threads;
  for (int value = 0; value < 4; ++value) threads.emplace_back(work, value);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.live_bytes(), 0u);
}

}  // namespace

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
