#include "tensor/booked.h"

#include <ATen/ATen.h>

namespace troika::tensor {

at::Tensor booked_empty(std::int64_t elements, at::ScalarType dtype, const c10::Device& device, Ledger& ledger,
                        Use use) {
  const auto options = at::TensorOptions().dtype(dtype).device(device);
  const at::Tensor storage = at::empty({elements}, options);
  const auto bytes = static_cast<std::int64_t>(storage.nbytes());
  ledger.hold(use, bytes);
  return at::from_blob(
      storage.data_ptr(), {elements}, [storage, &ledger, use, bytes](void*) { ledger.release(use, bytes); }, options);
}

}  // namespace troika::tensor
