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

void log_sum_exp_and_keep(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& kept_Mv) {
  if (logits_Mv.is_cpu() && kept_Mv.scalar_type() == at::kBFloat16) {
    return cpu::log_sum_exp_rows({logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)},
                                 logits_Mv.data_ptr<float>(), lse_M.data_ptr<float>(), bf16_data(kept_Mv));
  }
  lse_M.copy_(log_sum_exp(logits_Mv));
  kept_Mv.copy_(logits_Mv.sub_(lse_M.unsqueeze(1)));
}

namespace {

// Logits of fp32 give their memory to a gradient of halves: a row to the first half of its own.
at::Tensor room_of_gradient(const at::Tensor& logits_Mv, at::ScalarType dtype) {
  if (dtype == logits_Mv.scalar_type()) return logits_Mv;
  const auto options = logits_Mv.options().dtype(dtype);
  const at::Tensor owner = logits_Mv;
  return at::from_blob(
      logits_Mv.data_ptr(), logits_Mv.sizes(), {2 * logits_Mv.stride(0), 1}, [owner](void*) {}, options);
}

at::Tensor gradient_on_cpu(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                           const at::Tensor& weight_M, at::ScalarType dtype) {
  const at::Tensor d_Mv = room_of_gradient(logits_Mv, dtype);
  cpu::cross_entropy_gradient_rows(
      {logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)}, {cpu_dtype(logits_Mv), cpu_dtype(d_Mv)},
      logits_Mv.data_ptr(), lse_M.data_ptr<float>(), column_M.data_ptr<std::int64_t>(), weight_M.data_ptr<float>());
  return d_Mv;
}

}  // namespace

at::Tensor cross_entropy_gradient(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                                  const at::Tensor& weight_M, at::ScalarType dtype) {
  if (logits_Mv.is_cpu() && dtype != at::kHalf) return gradient_on_cpu(logits_Mv, lse_M, column_M, weight_M, dtype);
  const at::Tensor d_Mv = to_float(logits_Mv);
  if (d_Mv.is_cpu()) return gradient_on_cpu(d_Mv, lse_M, column_M, weight_M, at::kFloat).to(dtype);
  if constexpr (has_cuda_kernels) {
    if (d_Mv.is_cuda()) {
      on_cuda::cross_entropy_gradient(d_Mv, lse_M, column_M, weight_M);
      return d_Mv.to(dtype);
    }
  }
  reference::cross_entropy_gradient(d_Mv, lse_M, column_M, weight_M);
  return d_Mv.to(dtype);
}

at::Tensor log_add_exp(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor larger = at::maximum(a, b);
  const at::Tensor shift = larger.masked_fill(larger == -std::numeric_limits<float>::infinity(), 0.0);
  return (at::minimum(a, b) - shift).exp_().log1p_().add_(larger);
}

}  // namespace troika::kernels
