// Copies and fills in host memory, for tensor.cc.
#pragma once

#include "tensor/tensor.h"

namespace troika::tensor {

// to = from, converted; of one size. They must not overlap, but for elements that stay where they are.
void copy_on_host(const Tensor& to, const Tensor& from);

void fill_on_host(const Tensor& tensor, double value);

// Dimensions in which two tensors of one size are walked together: ordered by the strides of `a`, the last is the innermost; those
// that both have in one piece are one. At least one; none of size 1 unless it is the only one.
struct Walk {
  struct Dimension {
    std::int64_t size = 1, of_a = 0, of_b = 0;  // strides in elements
  };
  std::vector<Dimension> dimensions;
};
Walk walk_of(const Tensor& a, const Tensor& b);

// visit(a, b, inner, count): elements from these on, `count` of them along the innermost dimension; offsets in elements. Pieces go
// to threads where there is much to do; which elements a call has depends on the sizes alone.
void walk(const Walk& walk, const std::function<void(std::int64_t a, std::int64_t b, const Walk::Dimension& inner, std::int64_t count)>& visit);

}  // namespace troika::tensor
