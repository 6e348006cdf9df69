#include "kernels/cross_entropy.h"

#include <limits>

#include "cpu/cross_entropy.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"
#include "tensor/tensor.h"

namespace troika::kernels {

tensor::Tensor log_sum_exp(const tensor::Tensor& logits_Mv) {
  if (logits_Mv.is_cpu()) {
    const tensor::Tensor lse_M = tensor::empty({logits_Mv.size(0)}, logits_Mv.type());
    cpu::log_sum_exp_rows({logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)}, logits_Mv.data<float>(),
                          lse_M.data<float>());
    return lse_M;
  }
  if constexpr (has_cuda_kernels) {
    if (logits_Mv.is_cuda()) return on_cuda::log_sum_exp(logits_Mv);
  }
  return reference::log_sum_exp(logits_Mv);
}

void log_sum_exp_and_keep(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& kept_Mv) {
  if (logits_Mv.is_cpu() && kept_Mv.dtype() == tensor::Dtype::bf16) {
    return cpu::log_sum_exp_rows({logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)},
                                 logits_Mv.data<float>(), lse_M.data<float>(), bf16_data(kept_Mv));
  }
  lse_M.copy_from(log_sum_exp(logits_Mv));
  kept_Mv.copy_from(logits_Mv.sub_(lse_M.unsqueeze(1)));
}

namespace {

// Logits of fp32 give their memory to a gradient of halves: a row to the first half of its own.
tensor::Tensor room_of_gradient(const tensor::Tensor& logits_Mv, tensor::Dtype dtype) {
  if (dtype == logits_Mv.dtype()) return logits_Mv;
  const auto options = logits_Mv.type().of(dtype);
  const tensor::Tensor owner = logits_Mv;
  return at::from_blob(
      logits_Mv.data(), logits_Mv.sizes(), {2 * logits_Mv.stride(0), 1}, [owner](void*) {}, options);
}

tensor::Tensor gradient_on_cpu(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& column_M,
                           const tensor::Tensor& weight_M, tensor::Dtype dtype) {
  const tensor::Tensor d_Mv = room_of_gradient(logits_Mv, dtype);
  cpu::cross_entropy_gradient_rows(
      {logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)}, {cpu_dtype(logits_Mv), cpu_dtype(d_Mv)},
      logits_Mv.data(), lse_M.data<float>(), column_M.data<std::int64_t>(), weight_M.data<float>());
  return d_Mv;
}

}  // namespace

tensor::Tensor cross_entropy_gradient(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& column_M,
                                  const tensor::Tensor& weight_M, tensor::Dtype dtype) {
  if (logits_Mv.is_cpu() && dtype != tensor::Dtype::fp16) return gradient_on_cpu(logits_Mv, lse_M, column_M, weight_M, dtype);
  const tensor::Tensor d_Mv = to_float(logits_Mv);
  if (d_Mv.is_cpu()) return gradient_on_cpu(d_Mv, lse_M, column_M, weight_M, tensor::Dtype::fp32).to(dtype);
  if constexpr (has_cuda_kernels) {
    if (d_Mv.is_cuda()) {
      on_cuda::cross_entropy_gradient(d_Mv, lse_M, column_M, weight_M);
      return d_Mv.to(dtype);
    }
  }
  reference::cross_entropy_gradient(d_Mv, lse_M, column_M, weight_M);
  return d_Mv.to(dtype);
}

tensor::Tensor log_add_exp(const tensor::Tensor& a, const tensor::Tensor& b) {
  const tensor::Tensor larger = at::maximum(a, b);
  const tensor::Tensor shift = larger.masked_fill(larger == -std::numeric_limits<float>::infinity(), 0.0);
  return (at::minimum(a, b) - shift).exp_().log1p_().add_(larger);
}

}  // namespace troika::kernels
