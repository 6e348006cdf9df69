// Large blocks of memory that are kept when they are freed. A new block from the system costs a page fault and zeroing
// for each of its pages, at every use; a cached block costs that once.
//
// A cache never holds more than slack_bytes beyond the most that was in use at one time. When no free range is large enough and
// that limit is reached, pages of free ranges are moved after each other into a new range of addresses (mremap), so that
// free memory in pieces is as good as in one. Where the kernel refuses to move a page, free blocks are returned
// instead. Blocks use the kernel's large pages if available.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troika::tensor {

// Ranges of address space that nobody uses: found by size, joined with their neighbours. Bookkeeping only, no memory is
// touched.
struct Range {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;  // 0: no range
};

// Not safe for several threads at once.
class FreeRanges {
 public:
  // The next `ranges` calls of add() will need no memory, nor will calls of take() and take_largest() among them.
  void reserve(std::size_t ranges);

  // Must not overlap a range that is here.
  void add(Range range);

  // The first `bytes` of the smallest range that has them (best fit; of equals the lowest). No range when none has.
  Range take(std::size_t bytes);

  // The largest piece that begins and ends at multiples of `alignment`, at most `bytes` (a multiple of it) of it. No range
  // when nothing free covers such a piece.
  Range take_aligned(std::size_t bytes, std::size_t alignment);

  Range take_largest();

  std::size_t bytes() const { return bytes_; }

 private:
  void insert(Range range);
  void erase(Range range);
  void cut(Range whole, Range piece);

  using ByPlace = std::map<std::uintptr_t, std::size_t>;
  using BySize = std::set<std::pair<std::size_t, std::uintptr_t>>;
  struct Nodes {
    ByPlace::node_type place;
    BySize::node_type size;
  };

  ByPlace by_place_;
  BySize by_size_;
  std::vector<Nodes> spare_;  // of ranges that are gone; has room for all nodes there are
  std::size_t bytes_ = 0;
};

// Safe for any threads; a block may be released by another thread than the one that asked for it.
class PageCache {
 public:
  static constexpr std::size_t slack_bytes = std::size_t{512} << 10;

  // Puts the pages of [from, from + bytes) in place of those at `to`, of which they leave none mapped. False: the kernel
  // refused; then the pages at `from` are as they were and those at `to` may be unmapped, as before Linux 6.17.
  using Remap = std::function<bool(void* from, void* to, std::size_t bytes)>;

  PageCache();
  explicit PageCache(Remap remap);
  ~PageCache();  // gives what is free back to the system; blocks in use stay usable

  // Uninitialised, aligned to 64 KiB. Null when the system has no room, even after all that is free was given back.
  void* allocate(std::size_t bytes);

  // False when `data` is no block of this cache.
  bool release(void* data);

  std::size_t live_bytes() const;       // in use, blocks rounded up to 64 KiB
  std::size_t peak_live_bytes() const;  // the most at one time
  std::size_t held_bytes() const;       // in use and free
  std::size_t fresh_bytes() const;      // that came from the system since the start: their first use costs page faults

 private:
  Range map(std::size_t bytes);
  bool move_free_pages(Range destination, std::size_t bytes);
  std::size_t move_units(Range from, std::uintptr_t to) const;
  void give_back_above(std::size_t held_bytes);

  mutable std::mutex mutex_;
  FreeRanges free_;
  std::unordered_map<std::uintptr_t, std::size_t> live_;  // begin -> bytes
  std::size_t live_bytes_ = 0, peak_live_bytes_ = 0, fresh_bytes_ = 0;
  const Remap remap_;
};

// Memory straight from the system: the pages are zero, and each costs its fault when it is first touched.
// Blocks of large_page_bytes are on one page where the system has such pages. small_unit_bytes is a multiple of every
// other page size.
constexpr std::size_t large_page_bytes = std::size_t{2} << 20, small_unit_bytes = std::size_t{64} << 10;

constexpr std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

// `bytes`: a multiple of small_unit_bytes. The address is a multiple of large_page_bytes; 0 when there is no room. What is
// mapped already does not begin where this ends.
std::uintptr_t map_pages(std::size_t bytes);

// Fresh pages at this place, instead of those that are mapped there, if any. False when there is no room.
bool map_pages_at(std::uintptr_t begin, std::size_t bytes);

// All of what map_pages gave, or a part that begins at a multiple of small_unit_bytes.
void unmap_pages(std::uintptr_t begin, std::size_t bytes);

}  // namespace troika::tensor
