#include "kernels/embedding.h"

#include <ATen/ATen.h>

#include "cpu/embedding.h"
#include "kernels/cpu_operands.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_vD, std::int64_t first_row) {
  if constexpr (has_cpu_kernels) {
    // A table of halves is not converted for the few rows that are read.
    if (table_vD.is_cpu() && table_vD.scalar_type() == at::kFloat) {
      const at::Tensor ids = ids_M.contiguous(), table = table_vD.contiguous();
      const at::Tensor x_MD = at::empty({ids.size(0), table.size(1)}, table.options());
      cpu::embedding_forward({first_row, table.size(0), table.size(1)}, ids.size(0), ids.data_ptr<std::int64_t>(),
                             table.data_ptr<float>(), x_MD.data_ptr<float>());
      return x_MD;
    }
  }
  return reference::embedding_forward(ids_M, table_vD, first_row);
}

void embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M, std::int64_t first_row,
                               const at::Tensor& dtable_vD) {
  if constexpr (has_cpu_kernels) {
    if (dtable_vD.is_cpu()) {
      const at::Tensor ids = ids_M.contiguous(), dx = to_float(dx_MD).contiguous();
      return cpu::embedding_backward({first_row, dtable_vD.size(0), dtable_vD.size(1)}, ids.size(0),
                                     ids.data_ptr<std::int64_t>(), dx.data_ptr<float>(), dtable_vD.data_ptr<float>());
    }
  }
  reference::embedding_backward_weight(dx_MD, ids_M, first_row, dtable_vD);
}

}  // namespace troika::kernels
