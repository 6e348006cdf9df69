#include "kernels/cross_entropy.h"

#include <ATen/ATen.h>

#include <limits>

#include "cpu/cross_entropy.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

at::Tensor log_sum_exp(const at::Tensor& logits_Mv) {
  if (logits_Mv.is_cpu()) {
    const at::Tensor lse_M = at::empty({logits_Mv.size(0)}, logits_Mv.options());
    cpu::log_sum_exp_rows({logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)}, logits_Mv.data_ptr<float>(),
                          lse_M.data_ptr<float>());
    return lse_M;
  }
  if constexpr (has_cuda_kernels) {
    if (logits_Mv.is_cuda()) return on_cuda::log_sum_exp(logits_Mv);
  }
  return reference::log_sum_exp(logits_Mv);
}

void cross_entropy_gradient(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                            const at::Tensor& weight_M) {
  if (logits_Mv.is_cpu()) {
    return cpu::cross_entropy_gradient_rows({logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)},
                                            logits_Mv.data_ptr<float>(), lse_M.data_ptr<float>(),
                                            column_M.data_ptr<std::int64_t>(), weight_M.data_ptr<float>());
  }
  if constexpr (has_cuda_kernels) {
    if (logits_Mv.is_cuda()) return on_cuda::cross_entropy_gradient(logits_Mv, lse_M, column_M, weight_M);
  }
  reference::cross_entropy_gradient(logits_Mv, lse_M, column_M, weight_M);
}

at::Tensor log_add_exp(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor larger = at::maximum(a, b);
  const at::Tensor shift = larger.masked_fill(larger == -std::numeric_limits<float>::infinity(), 0.0);
  return (at::minimum(a, b) - shift).exp_().log1p_().add_(larger);
}

}  // namespace troika::kernels
