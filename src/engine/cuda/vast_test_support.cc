#include "cuda/vast_test_support.h"

#include <sys/mman.h>

#include <cstring>

#include "base/error.h"

namespace troika::cuda {

void* new_address_space(std::size_t bytes) {
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw base::BugError(std::string("no address space for a test: ") + std::strerror(errno));
  return data;
}

void end_address_space(void* data, std::size_t bytes) noexcept { ::munmap(data, bytes); }

}  // namespace troika::cuda
