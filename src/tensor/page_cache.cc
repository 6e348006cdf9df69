#include "tensor/page_cache.h"

#include <sys/mman.h>

#include <algorithm>

namespace troika::tensor {
namespace {

constexpr std::size_t unit_bytes = std::size_t{64} << 10;  // a multiple of every page size
constexpr std::size_t large_page_bytes = std::size_t{2}
                                         << 20;  // pages are moved in multiples of it, so that they stay whole

std::size_t round_up(std::size_t bytes, std::size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

void unmap(std::uintptr_t begin, std::size_t bytes) {
  if (bytes > 0) ::munmap(pointer(begin), bytes);
}

// Begins at a multiple of large_page_bytes. 0 when there is no room.
std::uintptr_t map_aligned(std::size_t bytes) {
  const std::size_t mapped = bytes + large_page_bytes;
  void* data = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return 0;
  const auto whole = reinterpret_cast<std::uintptr_t>(data), begin = round_up(whole, large_page_bytes);
  unmap(whole, begin - whole);
  unmap(begin + bytes, whole + mapped - begin - bytes);
#ifdef MADV_HUGEPAGE
  ::madvise(pointer(begin), bytes, MADV_HUGEPAGE);  // a hint
#endif
  return begin;
}

// The pages of `from`, in place of those at `to`. The kernel refuses ranges that were mapped in several calls: then in halves.
void move_pages(Range from, std::uintptr_t to) {
  void* moved = ::mremap(pointer(from.begin), from.bytes, from.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, pointer(to));
  if (moved != MAP_FAILED) return;
  if (from.bytes == large_page_bytes) return unmap(from.begin, from.bytes);  // `to` keeps its fresh pages
  const std::size_t half = round_up(from.bytes / 2, large_page_bytes);
  move_pages({from.begin, half}, to);
  move_pages({from.begin + half, from.bytes - half}, to + half);
}

}  // namespace

PageCache::~PageCache() { give_back_above(0); }

void PageCache::give_back_above(std::size_t held_bytes) {
  while (free_.bytes() > 0 && live_bytes_ + free_.bytes() > held_bytes) {
    const Range range = free_.take_largest();
    const std::size_t excess = live_bytes_ + free_.bytes() + range.bytes - held_bytes;
    const std::size_t given = std::min(range.bytes, round_up(excess, unit_bytes));
    unmap(range.begin + range.bytes - given, given);
    if (given < range.bytes) free_.add({range.begin, range.bytes - given});
  }
}

// At most `bytes`; returns how many.
std::size_t PageCache::move_free_pages(std::uintptr_t destination, std::size_t bytes) {
  std::size_t moved = 0;
  while (bytes - moved >= large_page_bytes) {
    const Range from = free_.take_aligned((bytes - moved) / large_page_bytes * large_page_bytes, large_page_bytes);
    if (from.bytes == 0) break;
    move_pages(from, destination + moved);
    moved += from.bytes;
  }
  return moved;
}

Range PageCache::map(std::size_t bytes) {
  std::uintptr_t begin = map_aligned(bytes);
  if (begin == 0) {
    give_back_above(0);
    begin = map_aligned(bytes);
  }
  if (begin == 0) return {};
  const std::size_t limit = std::max(peak_live_bytes_, live_bytes_ + bytes) + slack_bytes;
  const std::size_t held = live_bytes_ + free_.bytes() + bytes;
  if (held > limit) move_free_pages(begin, std::min(bytes, round_up(held - limit, large_page_bytes)));
  give_back_above(limit - bytes);
  return {begin, bytes};
}

void* PageCache::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), unit_bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  Range block = free_.take(rounded);
  if (block.bytes == 0) block = map(rounded);
  if (block.bytes == 0) return nullptr;
  live_.emplace(block.begin, block.bytes);
  live_bytes_ += block.bytes;
  peak_live_bytes_ = std::max(peak_live_bytes_, live_bytes_);
  return pointer(block.begin);
}

bool PageCache::release(void* data) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (begin % unit_bytes != 0) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(begin);
  if (found == live_.end()) return false;
  free_.add({begin, found->second});
  live_bytes_ -= found->second;
  live_.erase(found);
  return true;
}

std::size_t PageCache::live_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return live_bytes_;
}

std::size_t PageCache::peak_live_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return peak_live_bytes_;
}

std::size_t PageCache::held_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return live_bytes_ + free_.bytes();
}

}  // namespace troika::tensor
