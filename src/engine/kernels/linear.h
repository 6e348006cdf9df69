// y = x w^T + bias. Shapes: M rows, I inputs, O outputs; rows are contiguous, except that w and dw may be transposed views of
// an [I, O] tensor (GPT-2 stores weights so). Any device; dtypes as in cpu_operands.h. Halves are multiplied as they are, or in
// fp32 where the CPU is faster so, with sums in fp32, to which the bias is added before they are rounded.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// A product that is added to columns of another one's result, from `first` on: on a CPU before that is rounded.
struct ColumnProduct {
  std::int64_t first = 0;
  tensor::Tensor a_MK, b_KN;
};
using ColumnProducts = std::vector<ColumnProduct>;

// Both forwards: on the CPU a row's bits do not depend on the other rows where there are at most so many and w is dense.
inline constexpr std::int64_t independent_rows = 16;
// y_MO + plus_MO where that is defined, of y's dtype: devices add it before they round, the CPU to what is rounded.
tensor::Tensor linear_forward(const tensor::Tensor& x_MI, const tensor::Tensor& w_OI, const tensor::Tensor& bias_O = {},
                              const tensor::Tensor& plus_MO = {}, const ColumnProducts& more = {});
// Writes y in fp32, not rounded to half; rows of y may have gaps between them.
void linear_forward_float(const tensor::Tensor& x_MI, const tensor::Tensor& w_OI, const tensor::Tensor& y_MO);
tensor::Tensor linear_backward_input(const tensor::Tensor& dy_MO, const tensor::Tensor& w_OI, const ColumnProducts& more = {});  // dx_MI
void linear_backward_input_into(const tensor::Tensor& dy_MO, const tensor::Tensor& w_OI, const tensor::Tensor& dx_MI);  // which may have gaps between rows
// Writes dw, fp32, or adds to it.
void linear_backward_weight(const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI, const tensor::Tensor& dw_OI,
                            tensor::Sum sum = tensor::Sum::replaced);
// Writes dbias, fp32, or adds to it: the sum over rows.
void linear_backward_bias(const tensor::Tensor& dy_MO, const tensor::Tensor& dbias_O, tensor::Sum sum = tensor::Sum::replaced);

// Whether products of x are made of it as it is; else they convert it to fp32.
bool multiplies_as_it_is(const tensor::Tensor& x);

// Memory for matrices whose columns a GEMM reads: rows a large power of two apart would share few sets of the caches, so
// these are a line further apart.
// Uninitialised [rows, columns]; a row is contiguous.
tensor::Tensor empty_spaced_rows(std::int64_t rows, std::int64_t columns, const tensor::TensorType& options);

}  // namespace troika::kernels
