// Rows of logits and their cross-entropy with one column each. Shapes: M rows, v columns; a row is contiguous, the
// stride between rows may exceed v. fp32 unless stated.
#pragma once

#include "tensor/tensor.h"

namespace troika::kernels {

tensor::Tensor log_sum_exp(const tensor::Tensor& logits_Mv);  // [M]; -inf for a row of -inf

// The same; and kept_Mv, dense halves, becomes logits - log_sum_exp. Writes lse_M. May change the logits.
void log_sum_exp_and_keep(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& kept_Mv);

// The gradient of sum over rows of weight * (lse - logit of the row's column), weight * (exp(logit - lse) - [column]), rounded
// to `dtype`. It may lie where the logits lay, which are gone. column_M int64; one outside [0, v) is in no column.
// logits_Mv: fp32, or of `dtype`.
tensor::Tensor cross_entropy_gradient(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M,
                                      const tensor::Tensor& column_M, const tensor::Tensor& weight_M, tensor::Dtype dtype);

// log(exp(a) + exp(b)) of each element, -inf included; not-a-number where either is.
tensor::Tensor log_add_exp(const tensor::Tensor& a, const tensor::Tensor& b);

}  // namespace troika::kernels
