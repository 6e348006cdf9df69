#include "kernels/documents.h"

#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::kernels {

Sight sight_of(const CausalWindow& w) {
  const std::int64_t first = w.q_offset - w.k_offset;  // the key at which the first query stands
  if (w.T == 0 || w.S == 0 || first + w.T <= 0) return Sight::nothing;
  if (first >= w.S - 1) return Sight::everything;
  return first + w.T == w.S ? Sight::diagonal : Sight::other;
}

DocumentBounds document_bounds(const tensor::Tensor& first_key_BT, const tensor::Device& device) {
  return {tensor::to_device(first_key_BT, device)};
}

}  // namespace troika::kernels
