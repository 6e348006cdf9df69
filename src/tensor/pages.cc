#include "tensor/pages.h"

#include <sys/mman.h>

namespace troika::tensor {

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

}  // namespace troika::tensor
