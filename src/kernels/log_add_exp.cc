#include "kernels/log_add_exp.h"

#include <ATen/ATen.h>

#include <limits>

namespace troika::kernels {

at::Tensor log_add_exp(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor larger = at::maximum(a, b);
  const at::Tensor shift = larger.masked_fill(larger == -std::numeric_limits<float>::infinity(), 0.0);
  return (at::minimum(a, b) - shift).exp_().log1p_().add_(larger);
}

}  // namespace troika::kernels
