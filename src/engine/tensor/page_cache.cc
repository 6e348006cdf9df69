#include "tensor/page_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace troika::tensor {
namespace {

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

bool remap_pages(void* from, void* to, std::size_t bytes) {
  return ::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

}  // namespace

PageCache::PageCache() : PageCache(remap_pages) {}

PageCache::PageCache(Remap remap) : remap_(std::move(remap)) {}

PageCache::~PageCache() { give_back_above(0); }

void PageCache::give_back_above(std::size_t held_bytes) {
  while (free_.bytes() > 0 && live_bytes_ + free_.bytes() > held_bytes) {
    const Range range = free_.take_largest();
    const std::size_t excess = live_bytes_ + free_.bytes() + range.bytes - held_bytes;
    const std::size_t given = std::min(range.bytes, round_up(excess, small_unit_bytes));
    unmap_pages(range.begin + range.bytes - given, given);
    if (given < range.bytes) free_.add({range.begin, range.bytes - given});
  }
}

// One large page per call: before Linux 6.17 a call unmaps its target, and then refuses a source that consists of several
// mappings. Every mapping of a cache begins at a multiple of large_page_bytes, and map_pages leaves a gap after it, so a large
// page inside a free range lies in one mapping. Returns how many bytes it moved before a refusal.
std::size_t PageCache::move_units(Range from, std::uintptr_t to) const {
  std::size_t moved = 0;
  while (moved < from.bytes && remap_(pointer(from.begin + moved), pointer(to + moved), large_page_bytes))
    moved += large_page_bytes;
  return moved;
}

// At most `bytes`, up to the first refusal. False: the system had no pages for the place of the refused ones, and the
// destination is unmapped.
bool PageCache::move_free_pages(Range destination, std::size_t bytes) {
  std::size_t moved = 0;
  while (bytes - moved >= large_page_bytes) {
    const Range from = free_.take_aligned((bytes - moved) / large_page_bytes * large_page_bytes, large_page_bytes);
    if (from.bytes == 0) break;
    const std::size_t done = move_units(from, destination.begin + moved);
    moved += done;
    if (done == from.bytes) continue;
    free_.add({from.begin + done, from.bytes - done});
    if (map_pages_at(destination.begin + moved, large_page_bytes)) break;
    unmap_pages(destination.begin, moved);
    unmap_pages(destination.begin + moved + large_page_bytes, destination.bytes - moved - large_page_bytes);
    return false;
  }
  fresh_bytes_ += destination.bytes - moved;
  return true;
}

Range PageCache::map(std::size_t bytes) {
  const std::size_t limit = std::max(peak_live_bytes_, live_bytes_ + bytes) + slack_bytes;
  const std::size_t held = live_bytes_ + free_.bytes() + bytes;
  const std::size_t excess = held > limit ? std::min(bytes, round_up(held - limit, large_page_bytes)) : 0;
  std::uintptr_t begin = map_pages(bytes);
  if (begin == 0 || !move_free_pages({begin, bytes}, excess)) {
    give_back_above(0);
    begin = map_pages(bytes);
    if (begin == 0) return {};
    fresh_bytes_ += bytes;
  }
  give_back_above(limit - bytes);
  return {begin, bytes};
}

void* PageCache::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), small_unit_bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  Range block = free_.take(rounded);
  if (block.bytes == 0) block = map(rounded);
  free_.reserve(live_.size() + 1);  // release() runs where tensors end, and must not fail for want of memory
  if (block.bytes == 0) return nullptr;
  live_.emplace(block.begin, block.bytes);
  live_bytes_ += block.bytes;
  peak_live_bytes_ = std::max(peak_live_bytes_, live_bytes_);
  return pointer(block.begin);
}

bool PageCache::release(void* data) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (begin % small_unit_bytes != 0) return false;
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

std::size_t PageCache::fresh_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return fresh_bytes_;
}

static void prefer_large_pages(std::uintptr_t begin, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  ::madvise(reinterpret_cast<void*>(begin), bytes, MADV_HUGEPAGE);  // a hint
#endif
}

void unmap_pages(std::uintptr_t begin, std::size_t bytes) {
  if (bytes > 0) ::munmap(reinterpret_cast<void*>(begin), bytes);
}

std::uintptr_t map_pages(std::size_t bytes) {
  const std::size_t mapped = bytes + large_page_bytes;
  void* data = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return 0;
  const auto whole = reinterpret_cast<std::uintptr_t>(data), begin = round_up(whole, large_page_bytes);
  unmap_pages(whole, begin - whole);
  unmap_pages(begin + bytes, whole + mapped - begin - bytes);
  prefer_large_pages(begin, bytes);
  return begin;
}

bool map_pages_at(std::uintptr_t begin, std::size_t bytes) {
  void* data = ::mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (data == MAP_FAILED) return false;
  prefer_large_pages(begin, bytes);
  return true;
}

void FreeRanges::reserve(std::size_t ranges) {
  if (spare_.size() >= ranges) return;
  const std::size_t needed = by_place_.size() + ranges;
  if (spare_.capacity() < needed) spare_.reserve(2 * needed);
  while (spare_.size() < ranges) {
    ByPlace place{{0, 0}};
    BySize size{{0, 0}};
    spare_.push_back({place.extract(place.begin()), size.extract(size.begin())});
  }
}

void FreeRanges::insert(Range range) {
  if (range.bytes == 0) return;
  reserve(1);
  Nodes nodes = std::move(spare_.back());
  spare_.pop_back();
  nodes.place.key() = range.begin;
  nodes.place.mapped() = range.bytes;
  nodes.size.value() = {range.bytes, range.begin};
  by_place_.insert(std::move(nodes.place));
  by_size_.insert(std::move(nodes.size));
  bytes_ += range.bytes;
}

void FreeRanges::erase(Range range) {
  spare_.push_back({by_place_.extract(range.begin), by_size_.extract({range.bytes, range.begin})});
  bytes_ -= range.bytes;
}

void FreeRanges::cut(Range whole, Range piece) {
  erase(whole);
  const std::uintptr_t end = piece.begin + piece.bytes;
  insert({whole.begin, piece.begin - whole.begin});
  insert({end, whole.begin + whole.bytes - end});
}

void FreeRanges::add(Range range) {
  const auto after = by_place_.lower_bound(range.begin);
  const Range next = after == by_place_.end() ? Range{} : Range{after->first, after->second};
  const Range previous =
      after == by_place_.begin() ? Range{} : Range{std::prev(after)->first, std::prev(after)->second};
  if (next.bytes > 0 && range.begin + range.bytes == next.begin) {
    erase(next);
    range.bytes += next.bytes;
  }
  if (previous.bytes > 0 && previous.begin + previous.bytes == range.begin) {
    erase(previous);
    range = {previous.begin, previous.bytes + range.bytes};
  }
  insert(range);
}

Range FreeRanges::take(std::size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, 0});
  if (found == by_size_.end()) return {};
  const Range whole{found->second, found->first}, piece{whole.begin, bytes};
  cut(whole, piece);
  return piece;
}

Range FreeRanges::take_aligned(std::size_t bytes, std::size_t alignment) {
  for (auto it = by_size_.rbegin(); it != by_size_.rend(); ++it) {
    const Range whole{it->second, it->first};
    const std::uintptr_t begin = (whole.begin + alignment - 1) / alignment * alignment;
    const std::uintptr_t end = (whole.begin + whole.bytes) / alignment * alignment;
    if (end <= begin) continue;
    const Range piece{begin, std::min<std::size_t>(end - begin, bytes)};
    cut(whole, piece);
    return piece;
  }
  return {};
}

Range FreeRanges::take_largest() {
  if (by_size_.empty()) return {};
  const Range range{by_size_.rbegin()->second, by_size_.rbegin()->first};
  erase(range);
  return range;
}

}  // namespace troika::tensor
