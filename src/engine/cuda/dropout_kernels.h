// The kernel of dropout.h.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/dropout.h"
#include "cuda/number.h"
#include "cuda/philox.h"

namespace troika::cuda {

// A thread has the eight elements of one block of random bits, those at a row's ends fewer.
template <class T>
struct Dropout {
  static constexpr int threads = 256, of_draw = 8;
  using Shared = NoShared;

  DropoutRows rows;
  DropoutDraw draw;
  const T* x;
  T* y;

  TROIKA_HOST_DEVICE std::int64_t first_draw() const { return rows.first_column / of_draw; }
  TROIKA_HOST_DEVICE std::int64_t draws_of_row() const {
    return blocks_for(rows.first_column + rows.I, of_draw) - first_draw();
  }
  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(rows.B * rows.T * draws_of_row(), threads); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const std::int64_t i = block.index() * threads + block.thread(), m = i / draws_of_row();
    if (m >= rows.B * rows.T) return;
    const std::int64_t t = m % rows.T, position = t < rows.first_count ? rows.first + t : rows.second + t - rows.first_count;
    const std::int64_t number = first_draw() + i % draws_of_row();
    const PhiloxWords bits =
        philox4x32({{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(position),
                     draw.first_sample + static_cast<std::uint32_t>(m / rows.T), draw.step}},
                   draw.key[0], draw.key[1]);
    TROIKA_UNROLL
    for (int e = 0; e < of_draw; ++e) {
      const std::int64_t column = number * of_draw + e - rows.first_column;
      if (column < 0 || column >= rows.I) continue;
      const std::uint32_t own = bits.at[e / 2] >> (e % 2 * 16) & 0xffff;
      const std::int64_t at = m * rows.I + column;
      y[at] = rounded<T>(to_float(x[at]) * (own >= draw.threshold ? draw.kept : 0.0f));
    }
  }
};

}  // namespace troika::cuda
