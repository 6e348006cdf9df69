#include "tensor/booked.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "tensor/tensor.h"

namespace troika::tensor {
namespace {

// An undefined tensor when there is no room.
Tensor allocate(std::int64_t elements, const TensorType& options) {
  try {
    return empty({elements}, options);
  } catch (const c10::Error&) {
    return {};
  }
}

const char* name(MemoryUse use) {
  const char* names[] = {"parameters", "gradients", "optimizer state", "activations", "what is saved"};
  return names[static_cast<std::size_t>(use)];
}

}  // namespace

Tensor booked_empty(std::int64_t elements, Dtype dtype, const Device& device, Ledger& ledger,
                        MemoryUse use) {
  const auto options = TensorType(dtype, device);
  if (elements == 0) return empty({0}, options);
  const auto bytes = elements * static_cast<std::int64_t>(base::bytes_of(dtype));
  const Tensor storage = allocate(elements, options);
  if (!storage.defined()) {
    throw base::ConfigError(
        fmt::format("out of memory: there is no room for {} of {} beside the {} that this rank already holds; use "
                    "--zero 3 over more ranks, --offload file, fewer layers, a smaller --model.hidden, or more stages "
                    "(--pp)",
                    base::format_bytes(bytes), name(use), base::format_bytes(ledger.live())));
  }
  ledger.hold(use, bytes);
  const auto release = [storage, &ledger, use, bytes](void*) { ledger.release(use, bytes); };
  return at::from_blob(storage.data(), {elements}, release, options);
}

}  // namespace troika::tensor
