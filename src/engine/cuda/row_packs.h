// Element-wise work over M rows of D elements, with a stride between rows: a block has 128 packs of n elements of
// one row.
#pragma once

#include <cstdint>

#include "cuda/block.h"

namespace troika::cuda {

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
