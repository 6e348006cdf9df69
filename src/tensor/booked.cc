#include "tensor/booked.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <functional>

#include "base/error.h"
#include "base/units.h"

namespace troika::tensor {
namespace {

constexpr std::int64_t mapped_from_bytes = std::int64_t{1} << 20;

struct Block {
  void* data = nullptr;
  std::function<void()> give_back;
};

// Pages of its own: they leave the process when the buffer goes, and its comings and goings leave no holes in the heap.
Block map_pages(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return {};
#ifdef MADV_HUGEPAGE
  madvise(data, size, MADV_HUGEPAGE);  // a hint: fewer page faults for buffers that come and go
#endif
  return {data, [data, size] { munmap(data, size); }};
}

Block allocate(std::int64_t bytes, const c10::Device& device) {
  if (device.is_cpu() && bytes >= mapped_from_bytes) return map_pages(bytes);
  try {
    const at::Tensor storage = at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device));
    return {storage.data_ptr(), [storage] {}};
  } catch (const c10::Error&) {
    return {};
  }
}

const char* name(Use use) {
  const char* names[] = {"parameters", "gradients", "optimizer state", "activations"};
  return names[static_cast<std::size_t>(use)];
}

}  // namespace

at::Tensor booked_empty(std::int64_t elements, at::ScalarType dtype, const c10::Device& device, Ledger& ledger,
                        Use use) {
  const auto options = at::TensorOptions().dtype(dtype).device(device);
  if (elements == 0) return at::empty({0}, options);
  const auto bytes = elements * static_cast<std::int64_t>(c10::elementSize(dtype));
  Block block = allocate(bytes, device);
  if (block.data == nullptr) {
    throw base::ConfigError(
        fmt::format("out of memory: there is no room for {} of {} beside the {} that this rank already holds; use "
                    "--zero 3 over more ranks, --offload file, fewer layers, a smaller --model.hidden, or more stages "
                    "(--pp)",
                    base::format_bytes(bytes), name(use), base::format_bytes(ledger.live())));
  }
  ledger.hold(use, bytes);
  const auto release = [give_back = std::move(block.give_back), &ledger, use, bytes](void*) {
    give_back();
    ledger.release(use, bytes);
  };
  return at::from_blob(block.data, {elements}, release, options);
}

}  // namespace troika::tensor
