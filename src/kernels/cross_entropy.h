// Rows of logits and their cross-entropy with one column each. Shapes: M rows, v columns; a row is contiguous, rows may stand
// further apart than v. fp32 where nothing else is said.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

at::Tensor log_sum_exp(const at::Tensor& logits_Mv);  // [M]; -inf for a row of -inf

// The same; and kept_Mv, dense halves, becomes logits - log_sum_exp. Writes lse_M. May change the logits.
void log_sum_exp_and_keep(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& kept_Mv);

// The gradient of sum over rows of weight * (lse - logit of the row's column), weight * (exp(logit - lse) - [column]), rounded
// to `dtype`. It may lie where the logits lay, which are gone. column_M int64; one outside [0, v) stands in no column.
// logits_Mv: fp32, or of `dtype`.
at::Tensor cross_entropy_gradient(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                                  const at::Tensor& weight_M, at::ScalarType dtype);

// log(exp(a) + exp(b)) of each element, -inf included. libtorch's own rounds otherwise at the end of a thread's share of the
// elements.
at::Tensor log_add_exp(const at::Tensor& a, const at::Tensor& b);

}  // namespace troika::kernels
