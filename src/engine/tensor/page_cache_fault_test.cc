// A kernel that refuses to move pages.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "tensor/page_cache.h"

namespace troika::tensor {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t unit_bytes = 2 * mebibyte;

// As Linux before 6.17: the target is gone when the call fails.
bool refuse_late(void*, void* to, std::size_t bytes) {
  ::munmap(to, bytes);
  return false;
}

bool refuse_early(void*, void*, std::size_t) { return false; }

// Moves `allowed` times, then refuses.
PageCache::Remap refuse_after(int allowed, const PageCache::Remap& refuse) {
  return [left = allowed, refuse](void* from, void* to, std::size_t bytes) mutable {
    EXPECT_EQ(bytes, unit_bytes);
    if (left-- <= 0) return refuse(from, to, bytes);
    return ::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
  };
}

// Every second of 32 blocks is freed, and a block as large as these together is asked for.
void expect_served(const PageCache::Remap& remap) {
  PageCache cache(remap);
  std::vector<char*> pieces;
  for (int i = 0; i < 32; ++i) {
    pieces.push_back(static_cast<char*>(cache.allocate(4 * mebibyte)));
    std::memset(pieces.back(), 1, 4 * mebibyte);
  }
  for (std::size_t i = 0; i < pieces.size(); i += 2) cache.release(pieces[i]);
  auto* large = static_cast<char*>(cache.allocate(64 * mebibyte));
  ASSERT_NE(large, nullptr);
  std::memset(large, 2, 64 * mebibyte);
  EXPECT_LE(cache.held_bytes(), cache.peak_live_bytes() + PageCache::slack_bytes);
  for (std::size_t i = 1; i < pieces.size(); i += 2) {
    for (std::size_t byte = 0; byte < 4 * mebibyte; byte += 4096) ASSERT_EQ(pieces[i][byte], 1);
    EXPECT_TRUE(cache.release(pieces[i]));
  }
  EXPECT_TRUE(cache.release(large));
  EXPECT_EQ(cache.live_bytes(), 0u);
}

TEST(PageCache, ServesWhenTheKernelMovesNothing) {
  expect_served(refuse_after(0, refuse_early));
  expect_served(refuse_after(0, refuse_late));
}

TEST(PageCache, ServesWhenTheKernelStopsMovingHalfway) {
  expect_served(refuse_after(5, refuse_early));
  expect_served(refuse_after(5, refuse_late));
}

// The end of the mapping that holds `address`.
std::uintptr_t end_of_mapping(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  std::uintptr_t begin = 0, end = 0;
  char dash = 0;
  for (std::string rest; maps >> std::hex >> begin >> dash >> end && std::getline(maps, rest);) {
    if (begin <= address && address < end) return end;
  }
  return 0;
}

TEST(PageCache, MovesWhatLiesInOneMapping) {
  int moved = 0;
  PageCache cache([&](void* from, void* to, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(from);
    EXPECT_GE(end_of_mapping(begin), begin + bytes);
    ++moved;
    return ::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
  });
  const base::Philox random(7, "mappings");
  std::vector<void*> held;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    if (random.bits(2 * i) % 2 == 0 || held.empty()) {
      const std::size_t bytes = (1 + random.bits(2 * i + 1) % 150) * mebibyte / 16;
      held.push_back(cache.allocate(bytes));
      std::memset(held.back(), 1, bytes);
    } else {
      const std::size_t which = random.bits(2 * i + 1) % held.size();
      cache.release(held[which]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  EXPECT_GT(moved, 50);
}

}  // namespace
}  // namespace troika::tensor
