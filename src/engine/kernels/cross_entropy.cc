#include "kernels/cross_entropy.h"

#include <limits>

#include "base/exact_math.h"
#include "cpu/cross_entropy.h"
#include "cpu/parallel.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/tensor.h"

namespace troika::kernels {

tensor::Tensor log_sum_exp(const tensor::Tensor& logits_Mv) {
  const tensor::Tensor lse_M = tensor::empty({logits_Mv.size(0)}, logits_Mv.type());
  if (logits_Mv.is_cpu()) {
    cpu::log_sum_exp_rows({logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)}, logits_Mv.data<float>(),
                          lse_M.data<float>());
  } else {
    on_cuda::log_sum_exp(logits_Mv, lse_M);
  }
  return lse_M;
}

void log_sum_exp_and_keep(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& kept_Mv) {
  if (!logits_Mv.is_cpu()) return on_cuda::log_sum_exp(logits_Mv, lse_M, kept_Mv);
  if (kept_Mv.dtype() == tensor::Dtype::bf16) {
    return cpu::log_sum_exp_rows({logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)},
                                 logits_Mv.data<float>(), lse_M.data<float>(), kept_Mv.data<base::Bf16>());
  }
  lse_M.copy_from(log_sum_exp(logits_Mv));
  const auto* const lse = lse_M.data<float>();
  cpu::parallel_pieces(logits_Mv.size(0), 1, [&](std::int64_t row, std::int64_t) {
    float* const logits = logits_Mv.data<float>() + row * logits_Mv.stride(0);
    for (std::int64_t i = 0; i < logits_Mv.size(1); ++i) logits[i] -= lse[row];
  });
  kept_Mv.copy_from(logits_Mv);
}

namespace {

// Logits of fp32 give their memory to a gradient of halves: a row to the first half of its own.
tensor::Tensor room_of_gradient(const tensor::Tensor& logits_Mv, tensor::Dtype dtype) {
  return dtype == logits_Mv.dtype() ? logits_Mv : logits_Mv.bits_as(dtype).narrow(1, 0, logits_Mv.size(1));
}

tensor::Tensor gradient_on_cpu(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& column_M,
                           const tensor::Tensor& weight_M, tensor::Dtype dtype) {
  const tensor::Tensor d_Mv = room_of_gradient(logits_Mv, dtype);
  cpu::cross_entropy_gradient_rows(
      {logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)}, {logits_Mv.dtype(), d_Mv.dtype()},
      logits_Mv.data(), lse_M.data<float>(), column_M.data<std::int64_t>(), weight_M.data<float>());
  return d_Mv;
}

}  // namespace

tensor::Tensor cross_entropy_gradient(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M,
                                      const tensor::Tensor& column_M, const tensor::Tensor& weight_M, tensor::Dtype dtype) {
  if (!logits_Mv.is_cpu()) {
    on_cuda::cross_entropy_gradient(logits_Mv, lse_M, column_M, weight_M, dtype);
    return room_of_gradient(logits_Mv, dtype);
  }
  if (dtype != tensor::Dtype::fp16) return gradient_on_cpu(logits_Mv, lse_M, column_M, weight_M, dtype);
  return gradient_on_cpu(to_float(logits_Mv), lse_M, column_M, weight_M, tensor::Dtype::fp32).to(dtype);
}

// One comparison orders the two numbers, so that not-a-number on either side stays in the difference and comes out.
static float log_add_exp(float a, float b) {
  const float larger = a < b ? b : a, smaller = a < b ? a : b;
  if (smaller == -std::numeric_limits<float>::infinity()) return larger;
  return larger + static_cast<float>(base::log1p(base::exp(static_cast<double>(smaller - larger))));
}

tensor::Tensor log_add_exp(const tensor::Tensor& a, const tensor::Tensor& b) {
  if (!a.is_cpu()) return on_cuda::log_add_exp(a, b);
  const tensor::Tensor sum = a.clone(), other = b.contiguous();
  float* const x = sum.data<float>();
  const float* const y = other.data<float>();
  cpu::parallel_pieces(sum.elements(), 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) x[i] = log_add_exp(x[i], y[i]);
  });
  return sum;
}

}  // namespace troika::kernels
