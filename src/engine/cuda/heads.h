// Views of heads on a device: element (b, t, head, h) is at data[b * batch_stride + t * row_stride + head *
// head_stride + h].
#pragma once

#include <cstdint>

namespace troika::cuda {

template <class Element>  // void or const void: of the call's dtype
struct HeadView {
  Element* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;  // elements
};
using Heads = HeadView<const void>;
using MutableHeads = HeadView<void>;

}  // namespace troika::cuda
