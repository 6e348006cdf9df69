#include "tensor/caching_allocator.h"

#include <malloc.h>

#include <cstdlib>
#include <cstring>

#include "tensor/page_cache.h"

namespace troika::tensor {
namespace {

// From here on rounding to the cache's units takes little. What the C library's heap keeps of freed tensors no large tensor
// can use, so that activations of a small model and its sums of gradients, which stand at different times, took memory twice.
constexpr std::size_t cached_from_bytes = small_unit_bytes;
constexpr std::size_t alignment_bytes = 64;
// What the C library takes from its heap instead of mapping it: its own rules give back the scratch memory of oneDNN after
// every GEMM. What it keeps at the heap's end: more than all small tensors of a step, which the next step takes again.
constexpr int heap_up_to_bytes = 8 << 20, trim_from_bytes = 512 << 20;

// Never destroyed: tensors of other static objects may be freed later.
PageCache& cache() {
  static PageCache* const pages = new PageCache;
  return *pages;
}

void release(void* data) {
  if (!cache().release(data)) std::free(data);
}

void* allocate_bytes(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* data = nullptr;
  if (bytes >= cached_from_bytes) {
    data = cache().allocate(bytes);
  } else if (::posix_memalign(&data, alignment_bytes, bytes) != 0) {
    data = nullptr;
  }
  TORCH_CHECK(data != nullptr, "can't allocate memory: a tensor needs ", bytes, " bytes");
  return data;
}

// libtorch 1.13 declares allocate() const, 2.x does not and asks for copy_data(): here are all three, and each version
// overrides its own.
class CachingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const { return pointer_to(bytes); }
  c10::DataPtr allocate(std::size_t bytes) { return pointer_to(bytes); }
  c10::DeleterFnPtr raw_deleter() const { return &release; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const {
    std::memcpy(destination, source, bytes);
  }

 private:
  static c10::DataPtr pointer_to(std::size_t bytes) {
    void* data = allocate_bytes(bytes);
    return {data, data, &release, Device()};
  }
};

}  // namespace

void use_caching_allocator() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  c10::SetCPUAllocator(new CachingAllocator, 1);
#ifdef M_TRIM_THRESHOLD
  ::mallopt(M_MMAP_THRESHOLD, heap_up_to_bytes);
  ::mallopt(M_TRIM_THRESHOLD, trim_from_bytes);
#endif
#endif
}

}  // namespace troika::tensor
