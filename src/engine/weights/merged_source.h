// An adapter added to the weights beside it: W + alpha / rank * B A, in fp32, while they are loaded.
#pragma once

#include <cstdint>
#include <memory>

#include "shape/region.h"
#include "tensor/tensor.h"
#include "weights/adapter_source.h"
#include "weights/model_source.h"

namespace troika::weights {

// Any part of any tensor has the same bits, however the ranks cut it. Memory while loading: 64 MiB of the adapter, or
// one product's, in fp32. DataError when the adapter is not one of its base.
std::unique_ptr<ModelSource> make_merged_source(std::unique_ptr<ModelSource> base,
                                                std::unique_ptr<AdapterSource> adapter);

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
