#include "fuzz/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/outcome.h"

namespace troika::fuzz {

MemoryFile::MemoryFile() : descriptor_(::memfd_create("fuzz", 0)) {
  require(descriptor_ >= 0, "the system gives a file in memory");
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

void MemoryFile::set(std::string_view content) {
  require(::ftruncate(descriptor_, 0) == 0, "the file in memory can be emptied");
  const ssize_t written = ::pwrite(descriptor_, content.data(), content.size(), 0);
  require(written == static_cast<ssize_t>(content.size()), "the file in memory can be written");
}

}  // namespace troika::fuzz
