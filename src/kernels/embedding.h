// Rows of a table by id. ids_M int64 in [0, V).
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

at::Tensor embedding_forward(const at::Tensor& ids_M, const at::Tensor& table_VD);  // x_MD
void embedding_backward_weight(const at::Tensor& dx_MD, const at::Tensor& ids_M,
                               const at::Tensor& dtable_VD);  // writes dtable

}  // namespace troika::kernels
