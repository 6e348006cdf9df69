// Memory straight from the system: the pages are zero, and each costs its fault when it is first touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troika::tensor {

// Blocks of large_page_bytes stand on one page where the system has such pages. small_unit_bytes is a multiple of every
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
