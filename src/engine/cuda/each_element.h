// Work over flat arrays of any length: a thread has n neighbouring elements, those at the end fewer.
#pragma once

#include <cstdint>

#include "cuda/block.h"

namespace troika::cuda {

// of.template at<n>(i) does elements [i, i + n).
template <class Of, int n>
struct EachElement {
  static constexpr int threads = 256;
  using Shared = NoShared;

  Of of;
  std::int64_t count;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(count, threads * n); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    std::int64_t i = (block.index() * threads + block.thread()) * n;
    if (i + n <= count) {
      of.template at<n>(i);
    } else {
      for (; i < count; ++i) of.template at<1>(i);
    }
  }
};

}  // namespace troika::cuda
