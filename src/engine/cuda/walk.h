// Two arrays on the device that are walked together, element by element.
#pragma once

#include <cstdint>

#include "cuda/block.h"

namespace troika::cuda {

inline constexpr int most_walked_dims = 6;

// Element (i, j, ...) stands i * of_a[0] + j * of_a[1] + ... elements into a, likewise into b. Dimensions beyond `dims`
// are of size 1.
struct WalkShape {
  int dims = 0;
  std::int64_t size[most_walked_dims] = {}, of_a[most_walked_dims] = {}, of_b[most_walked_dims] = {};

  TROIKA_HOST_DEVICE std::int64_t elements() const {
    std::int64_t count = 1;
    for (int i = 0; i < dims; ++i) count *= size[i];
    return count;
  }
};

// of(a, b) for the places of each pair, a thread for each.
template <class Of>
struct EachPair {
  static constexpr int threads = 256;
  using Shared = NoShared;

  Of of;
  WalkShape shape;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(shape.elements(), threads); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    std::int64_t rest = block.index() * threads + block.thread(), a = 0, b = 0;
    if (rest >= shape.elements()) return;
    TROIKA_UNROLL
    for (int i = most_walked_dims - 1; i >= 0; --i) {
      if (i >= shape.dims) continue;
      const std::int64_t at = rest % shape.size[i];
      rest /= shape.size[i];
      a += at * shape.of_a[i];
      b += at * shape.of_b[i];
    }
    of(a, b);
  }
};

}  // namespace troika::cuda
