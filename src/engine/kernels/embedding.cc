#include "kernels/embedding.h"

#include "cpu/embedding.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/tensor.h"

namespace troika::kernels {

tensor::Tensor embedding_forward(const tensor::Tensor& ids_M, const tensor::Tensor& table_vD, std::int64_t first_row) {
  if (table_vD.is_cpu()) {
    // Rows of halves are moved, not read.
    const bool fp16 = table_vD.dtype() == tensor::Dtype::fp16;
    if (fp16) return embedding_forward(ids_M, table_vD.bits_as(tensor::Dtype::bf16), first_row).bits_as(tensor::Dtype::fp16);
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

}  // namespace troika::kernels
