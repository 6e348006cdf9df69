#include "tensor/memory.h"

#include <fmt/format.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>

#include "base/say.h"
#include "tensor/accelerator.h"
#include "tensor/page_cache.h"

namespace troika::tensor {
namespace {

// From here on rounding to the cache's units takes little. What the C library's heap keeps of freed tensors no large tensor
// can use, so that activations of a small model and its sums of gradients, which exist at different times, took memory twice.
constexpr std::size_t cached_from_bytes = small_unit_bytes;
constexpr std::size_t alignment_bytes = 64;
// The C library takes up to heap_up_to_bytes from its heap instead of mapping them: its own rules return oneDNN's scratch memory
// after every GEMM. It keeps trim_from_bytes at the heap's end: more than all small tensors of a step, which the next step reuses.
constexpr int heap_up_to_bytes = 8 << 20, trim_from_bytes = 512 << 20;

std::atomic<bool> keeps_freed{false};

// Never destroyed: tensors of other static objects may be freed later.
PageCache& cache() {
  static PageCache* const pages = new PageCache;
  return *pages;
}

bool is_cached(std::size_t bytes) { return bytes >= cached_from_bytes && keeps_freed.load(std::memory_order_relaxed); }

void* bytes_of_host(std::size_t bytes, bool cached) {
  if (bytes == 0) return nullptr;
  void* data = nullptr;
  if (cached) {
    data = cache().allocate(bytes);
  } else if (::posix_memalign(&data, alignment_bytes, bytes) != 0) {
    data = nullptr;
  }
  if (data == nullptr) throw OutOfMemory(bytes, Device());
  return data;
}

class HostMemory final : public Memory {
 public:
  HostMemory(std::size_t bytes, bool cached) : Memory(bytes_of_host(bytes, cached), bytes, Device()), cached_(cached) {}
  ~HostMemory() override {
    if (cached_) {
      cache().release(data());
    } else {
      std::free(data());
    }
  }

 private:
  const bool cached_;
};

}  // namespace

std::string name_of(const Device& device) { return device.is_cpu() ? "cpu" : fmt::format("cuda:{}", device.index()); }

OutOfMemory::OutOfMemory(std::size_t bytes, const Device& device)
    : text_(std::make_shared<const base::Text>(
          device.is_cpu() ? base::say("can't allocate memory: a tensor needs {} bytes", bytes)
                          : base::say("can't allocate memory: a tensor needs {} bytes of {}", bytes, name_of(device)))) {}

std::shared_ptr<Memory> allocate(std::size_t bytes, const Device& device) {
  if (!device.is_cpu()) return device.accelerator().allocate(bytes, device);
  return std::make_shared<HostMemory>(bytes, is_cached(bytes));
}

void keep_freed_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  keeps_freed = true;
#ifdef M_TRIM_THRESHOLD
  ::mallopt(M_MMAP_THRESHOLD, heap_up_to_bytes);
  ::mallopt(M_TRIM_THRESHOLD, trim_from_bytes);
#endif
#endif
}

}  // namespace troika::tensor
