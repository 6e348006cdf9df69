// Views of heads: element (b, t, head, h) is the one at first(b, t, head) + h of `data`.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/dtype.h"

namespace troika::cpu {

template <class Array>  // void or const void
struct HeadView {
  Array* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;  // elements
  Dtype dtype = Dtype::fp32;
  std::int64_t first(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return b * batch_stride + t * row_stride + head * head_stride;
  }
};
using Heads = HeadView<const void>;
using MutableHeads = HeadView<void>;

// Heads of floats, which are heads too.
template <class Float>  // float or const float
struct FloatHeadView {
  using View = HeadView<std::conditional_t<std::is_const_v<Float>, const void, void>>;
  Float* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
  operator View() const { return {data, batch_stride, row_stride, head_stride, Dtype::fp32}; }
  Float* at(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return data + b * batch_stride + t * row_stride + head * head_stride;
  }
};
using FloatHeads = FloatHeadView<const float>;
using MutableFloatHeads = FloatHeadView<float>;

}  // namespace troika::cpu
