// Memory for tables that are read at random: in pages of 2 MiB where the system has them, since looking up the place of a
// small page costs more than the read.
#pragma once

#include <cstddef>

namespace troika::tokenizer {

// A table of 2 MiB or more is at a multiple of that, with the hint to the system. Throws std::bad_alloc. Free with
// free_table.
void* allocate_table(std::size_t bytes, std::size_t alignment);
void free_table(void* memory, std::size_t bytes, std::size_t alignment);

// For std::vector; memory from the two above.
template <class T>
struct TableAllocator {
  using value_type = T;
  TableAllocator() = default;
  template <class Other>
  TableAllocator(const TableAllocator<Other>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_table(count * sizeof(T), alignof(T))); }
  void deallocate(T* memory, std::size_t count) { free_table(memory, count * sizeof(T), alignof(T)); }
  bool operator==(const TableAllocator&) const { return true; }
  bool operator!=(const TableAllocator&) const { return false; }
};

}  // namespace troika::tokenizer
