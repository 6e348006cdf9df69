// Rows of logits and their cross-entropy with one column each. Shapes: M rows, v columns; fp32, a row is contiguous, rows may
// stand further apart than v.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

at::Tensor log_sum_exp(const at::Tensor& logits_Mv);  // [M]; -inf for a row of -inf

// Turns logits into the gradient of sum over rows of weight * (lse - logit of the row's column):
// weight * (exp(logit - lse) - [column]). column_M int64; one outside [0, v) stands in no column.
void cross_entropy_gradient(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                            const at::Tensor& weight_M);

// log(exp(a) + exp(b)) of each element, -inf included. libtorch's own rounds otherwise at the end of a thread's share of the
// elements.
at::Tensor log_add_exp(const at::Tensor& a, const at::Tensor& b);

}  // namespace troika::kernels
