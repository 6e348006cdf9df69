// The arithmetic on tensors that has a caller outside the kernels: sums, joins, rows by index. Sizes must agree unless
// stated; fp32, bf16 and fp16 are read into fp32 and rounded once when they are written. Results do not depend on the
// number of threads.
#pragma once

#include <vector>

#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::tensor {

// sum += scale * x, rounded once but for a scale in fp64, where the product is rounded too. Dtypes may differ: the sum is made in that
// of `sum`, in fp32 where that is a half. x may lack the first dimensions of sum; it is then added to each of its rows. Integers have a scale of 1.
void add(const Tensor& sum, const Tensor& x, double scale = 1);
void multiply(const Tensor& x, double factor);  // of floats

Tensor cat(const std::vector<Tensor>& parts, int dim = 0);
Tensor stack(const std::vector<Tensor>& parts, int dim = 0);
Tensor repeat(const Tensor& x, std::int64_t times);  // along the first dimension

// Rows are elements of the first dimension; `index_r` is int64, one-dimensional, on the device of the rows.
Tensor rows_of(const Tensor& x, const Tensor& index_r);                            // [r, ...]
void set_rows(const Tensor& x, const Tensor& index_r, const Tensor& rows);         // x[index_r[i]] = rows[i]
void add_rows(const Tensor& sum, const Tensor& index_r, const Tensor& rows);       // sum[index_r[i]] += rows[i], in order of i

bool equal(const Tensor& a, const Tensor& b);  // sizes, dtype and the value of every element; not-a-number equals nothing
double value_of(const Tensor& x);              // of one element; waits for the device
double largest(const Tensor& x);               // of at least one element
double smallest(const Tensor& x);

// Where a result goes.
struct Destination {
  Tensor elements;
  Sum sum = Sum::replaced;  // replaced: the elements are uninitialised, and all are written. added: the result is added to them
};

}  // namespace troika::tensor
