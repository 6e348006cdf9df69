// How the threads of blocks go over arrays: two that are walked together, a flat one, and rows.
#pragma once

#include <cstdint>

#include "cuda/block.h"

namespace troika::cuda {

// Two arrays that are walked together, element by element.

inline constexpr int most_walked_dims = 6;

// Element (i, j, ...) is i * of_a[0] + j * of_a[1] + ... elements into a, likewise in b. Dimensions beyond `dims`
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

// Work over flat arrays of any length: a thread has n neighbouring elements, those at the end fewer.
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

// Element-wise work over M rows of D elements, with a stride between rows: a block has 128 packs of n elements of
// one row.
inline constexpr int row_pack_threads = 128;

template <int n>
struct RowPack {
  // The pack of a block's thread. `i` may be D or more: then there is none.
  template <class Block>
  TROIKA_DEVICE RowPack(const Block& block, std::int64_t D)
      : row(block.index() / blocks_of_row(D)),
        i((block.index() % blocks_of_row(D) * row_pack_threads + block.thread()) * n) {}
  static TROIKA_HOST_DEVICE std::int64_t blocks_of_row(std::int64_t D) { return blocks_for(D, row_pack_threads * n); }

  std::int64_t row, i;
};

}  // namespace troika::cuda
