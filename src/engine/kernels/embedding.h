// Rows of a table by id. The table may be a part of the whole vocabulary: it holds the rows [first_row, first_row + v).
// Shapes: M rows, v >= 1 rows of the table, D width. Dtypes as in cpu_operands.h.
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

}  // namespace troika::kernels
