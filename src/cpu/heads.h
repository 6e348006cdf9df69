// Views of heads: element (b, t, head, h) stands at data[b * batch_stride + t * row_stride + head * head_stride + h].
#pragma once

#include <cstdint>

namespace troika::cpu {

template <class Float>  // float or const float
struct HeadView {
  Float* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
  Float* at(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return data + b * batch_stride + t * row_stride + head * head_stride;
  }
};
using Heads = HeadView<const float>;
using MutableHeads = HeadView<float>;

}  // namespace troika::cpu
