// Adds the product of two thin matrices to parts of a large one.
#pragma once

#include <cstdint>

#include "shape/range.h"
#include "shape/region.h"
#include "tensor/tensor.h"

namespace troika::weights {

// The least rows and columns of a [rows, columns] matrix that hold a region of it.
struct Box {
  shape::Range rows, columns;
};
Box box_of(const shape::Region& region, std::int64_t columns);

// left [box.rows, r] and right [r, box.columns], fp64 holding fp32 numbers, host, contiguous.
struct Factors {
  tensor::Tensor left, right;
};

// data += float(scale * left right) over the elements of `region` of a matrix with so many columns, in the region's
// order. data: one-dimensional, fp32, contiguous, any device. Every element is a sum over r in ascending order whose
// products are exact, so its bits depend neither on how the matrix is cut nor on threads. Works on as many threads as
// tensor::set_threads allows. Memory: 4 MiB.
void add_low_rank(const Factors& factors, double scale, const shape::Region& region, std::int64_t columns,
                  const tensor::Tensor& data);

}  // namespace troika::weights
