#include "tokenizer/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace troika::tokenizer {

static constexpr std::size_t huge_page = std::size_t{2} << 20;

static std::align_val_t alignment_of(std::size_t bytes, std::size_t alignment) {
  return std::align_val_t(bytes < huge_page ? std::max(alignment, sizeof(void*)) : huge_page);
}

void* allocate_table(std::size_t bytes, std::size_t alignment) {
  void* memory = ::operator new(bytes, alignment_of(bytes, alignment));
#ifdef MADV_HUGEPAGE
  if (bytes >= huge_page) ::madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);  // a hint
#endif
  return memory;
}

void free_table(void* memory, std::size_t bytes, std::size_t alignment) {
  ::operator delete(memory, alignment_of(bytes, alignment));
}

}  // namespace troika::tokenizer
