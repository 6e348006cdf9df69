#include "kernels/embedding.h"

#include "kernels/reference/reference.h"

namespace troika::kernels {

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_vD, std::int64_t first_row) {
  return reference::embedding_forward(ids_M, table_vD, first_row);
}

void embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M, std::int64_t first_row,
                               const at::Tensor& dtable_vD) {
  return reference::embedding_backward_weight(dx_MD, ids_M, first_row, dtable_vD);
}

}  // namespace troika::kernels
