// Large blocks of memory that are kept when they are freed. A block that comes fresh from the system costs a page fault and a
// zeroed page for every page of it, at every use; these cost that once.
//
// A cache never holds more than slack_bytes beyond the most that was in use at one time. When no free range is large enough and
// that limit is reached, pages of free ranges are moved behind each other into a new range of addresses (mremap), so that
// free memory in pieces is as good as in one. Blocks stand on the kernel's large pages where it has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "tensor/free_ranges.h"

namespace troika::tensor {

// Safe for any threads; a block may be released by another thread than the one that asked for it.
class PageCache {
 public:
  static constexpr std::size_t slack_bytes = std::size_t{2} << 20;

  PageCache() = default;
  ~PageCache();  // gives what is free back to the system; blocks in use stay usable
  PageCache(const PageCache&) = delete;
  PageCache& operator=(const PageCache&) = delete;

  // Uninitialised, aligned to 64 KiB. Null when the system has no room, even after all that is free was given back.
  void* allocate(std::size_t bytes);

  // False when `data` is no block of this cache.
  bool release(void* data);

  std::size_t live_bytes() const;       // in use, blocks rounded up to 64 KiB
  std::size_t peak_live_bytes() const;  // the most at one time
  std::size_t held_bytes() const;       // in use and free

 private:
  Range map(std::size_t bytes);
  std::size_t move_free_pages(std::uintptr_t destination, std::size_t bytes);
  void give_back_above(std::size_t held_bytes);

  mutable std::mutex mutex_;
  FreeRanges free_;
  std::unordered_map<std::uintptr_t, std::size_t> live_;  // begin -> bytes
  std::size_t live_bytes_ = 0, peak_live_bytes_ = 0;
};

}  // namespace troika::tensor
