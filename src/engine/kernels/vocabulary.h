// The embedding, and rows of logits. Dtypes as in cpu_operands.h.
//
// The embedding gives rows of a table by id. The table may be a part of the whole vocabulary: it holds the rows [first_row, first_row + v).
// Shapes: M rows, v >= 1 rows of the table, D width.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troika::kernels {

// ids_M int64, of the whole vocabulary; ids outside this part give zero rows. x_MD is in the table's dtype.
tensor::Tensor embedding_forward(const tensor::Tensor& ids_M, const tensor::Tensor& table_vD, std::int64_t first_row);

// The gradient of a part of v rows is zero but in the rows r that ids name.
struct NamedRows {
  tensor::Tensor row_r;        // int64, of this part, ascending, each once; undefined: every row of it
  tensor::Tensor gradient_rD;  // fp32
};
// Ids outside this part are ignored. Repeated ids add up in one order, on every device.
NamedRows embedding_backward_weight(const tensor::Tensor& dx_MD, const tensor::Tensor& ids_M, std::int64_t first_row,
                                    std::int64_t v);

// Rows of logits and their cross-entropy with one column each. Shapes: M rows, v columns; a row is contiguous, the
// stride between rows may exceed v. fp32 unless stated.

tensor::Tensor log_sum_exp(const tensor::Tensor& logits_Mv);  // [M]; -inf for a row of -inf

// The same; and kept_Mv, dense halves, becomes logits - log_sum_exp. Writes lse_M. May change the logits.
void log_sum_exp_and_keep(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M, const tensor::Tensor& kept_Mv);

// The gradient of sum over rows of weight * (lse - logit of the row's column), weight * (exp(logit - lse) - [column]), rounded
// to `dtype`. It may lie where the logits lay, which are gone. column_M int64; one outside [0, v) is in no column.
// logits_Mv: fp32, or of `dtype`.
tensor::Tensor cross_entropy_gradient(const tensor::Tensor& logits_Mv, const tensor::Tensor& lse_M,
                                      const tensor::Tensor& column_M, const tensor::Tensor& weight_M,
                                      tensor::Dtype dtype);

// log(exp(a) + exp(b)) of each element, -inf included; not-a-number where either is.
tensor::Tensor log_add_exp(const tensor::Tensor& a, const tensor::Tensor& b);

}  // namespace troika::kernels
