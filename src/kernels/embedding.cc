#include "kernels/embedding.h"

#include <ATen/ATen.h>

#include "cpu/embedding.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_vD, std::int64_t first_row) {
  if (table_vD.is_cpu() && table_vD.scalar_type() != at::kHalf) {
    const at::Tensor ids = ids_M.contiguous(), table = table_vD.contiguous();
    const at::Tensor x_MD = at::empty({ids.size(0), table.size(1)}, table.options());
    cpu::embedding_forward({first_row, table.size(0), table.size(1), cpu_dtype(table)}, ids.size(0),
                           ids.data_ptr<std::int64_t>(), table.data_ptr(), x_MD.data_ptr());
    return x_MD;
  }
  if constexpr (has_cuda_kernels) {
    if (table_vD.is_cuda()) return on_cuda::embedding_forward(ids_M, table_vD, first_row);
  }
  return reference::embedding_forward(ids_M, table_vD, first_row);
}

NamedRows embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v) {
  if (dx_MD.is_cpu()) {
    const at::Tensor ids = ids_M.contiguous(), dx = cpu_operand(dx_MD).contiguous();
    const std::int64_t D = dx.size(1);
    const cpu::EmbeddingTable table{first_row, v, D, cpu_dtype(dx)};
    const cpu::NamedRows rows = cpu::named_rows(table, ids.size(0), ids.data_ptr<std::int64_t>());
    const NamedRows named{at::tensor(rows.row, at::kLong), at::empty({static_cast<std::int64_t>(rows.row.size()), D})};
    cpu::embedding_backward(rows, table, dx.data_ptr(), named.gradient_rD.data_ptr<float>());
    return named;
  }
  if constexpr (has_cuda_kernels) {
    if (dx_MD.is_cuda()) return on_cuda::embedding_backward_weight(dx_MD, ids_M, first_row, v);
  }
  return reference::embedding_backward_weight(dx_MD, ids_M, first_row, v);
}

}  // namespace troika::kernels
