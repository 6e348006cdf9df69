#include "kernels/vocabulary.h"

#include <limits>

#include "base/exact_math.h"
#include "cpu/parallel.h"
#include "cpu/rows.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"

namespace troika::kernels {

tensor::Tensor embedding_forward(const tensor::Tensor& ids_M, const tensor::Tensor& table_vD, std::int64_t first_row) {
  if (table_vD.is_cpu()) {
    // Rows of halves are moved, not read.
    const bool fp16 = table_vD.dtype() == tensor::Dtype::fp16;
    if (fp16)
      return embedding_forward(ids_M, table_vD.bits_as(tensor::Dtype::bf16), first_row).bits_as(tensor::Dtype::fp16);
    const tensor::Tensor ids = ids_M.contiguous(), table = table_vD.contiguous();
    const tensor::Tensor x_MD = tensor::empty({ids.size(0), table.size(1)}, table.type());
    cpu::embedding_forward({first_row, table.size(0), table.size(1), table.dtype()}, ids.size(0),
                           ids.data<std::int64_t>(), table.data(), x_MD.data());
    return x_MD;
  }
  return on_cuda::embedding_forward(ids_M, table_vD, first_row);
}

NamedRows embedding_backward_weight(const tensor::Tensor& dx_MD, const tensor::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v) {
  if (dx_MD.is_cpu()) {
    const tensor::Tensor ids = ids_M.contiguous(), dx = cpu_operand(dx_MD).contiguous();
    const std::int64_t D = dx.size(1);
    const cpu::EmbeddingTable table{first_row, v, D, dx.dtype()};
    const cpu::NamedRows rows = cpu::named_rows(table, ids.size(0), ids.data<std::int64_t>());
    const NamedRows named{tensor::of(rows.row), tensor::empty({static_cast<std::int64_t>(rows.row.size()), D})};
    cpu::embedding_backward(rows, table, dx.data(), named.gradient_rD.data<float>());
    return named;
  }
  return on_cuda::embedding_backward_weight(dx_MD, ids_M, first_row, v);
}

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
    return cpu::log_sum_exp_rows({logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)}, logits_Mv.data<float>(),
                                 lse_M.data<float>(), kept_Mv.data<base::Bf16>());
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

tensor::Tensor gradient_on_cpu(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M,
                               const tensor::Tensor& column_M, const tensor::Tensor& weight_M, tensor::Dtype dtype) {
  const tensor::Tensor d_Mv = room_of_gradient(logits_Mv, dtype);
  cpu::cross_entropy_gradient_rows({logits_Mv.size(0), logits_Mv.size(1), logits_Mv.stride(0)},
                                   {logits_Mv.dtype(), d_Mv.dtype()}, logits_Mv.data(), lse_M.data<float>(),
                                   column_M.data<std::int64_t>(), weight_M.data<float>());
  return d_Mv;
}

}  // namespace

tensor::Tensor cross_entropy_gradient(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M,
                                      const tensor::Tensor& column_M, const tensor::Tensor& weight_M,
                                      tensor::Dtype dtype) {
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
