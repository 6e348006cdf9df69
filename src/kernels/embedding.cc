#include "kernels/embedding.h"

#include <ATen/ATen.h>

namespace troika::kernels {

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_VD) {
  return table_VD.index_select(0, ids_M);
}

void embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M, const at::Tensor& dtable_VD) {
  at::Tensor dtable = dtable_VD;
  dtable.zero_().index_add_(0, ids_M, dx_MD);
}

}  // namespace troika::kernels
