// Dropout on the device, with the mask of kernels/rows.h.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"

namespace troika::cuda {

// base::philox4x32 in kernels.
struct PhiloxWords {
  std::uint32_t at[4];
};

TROIKA_HOST_DEVICE PhiloxWords philox4x32(PhiloxWords x, std::uint32_t key_0, std::uint32_t key_1) {
  TROIKA_UNROLL
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p_0 = std::uint64_t{0xD2511F53} * x.at[0], p_1 = std::uint64_t{0xCD9E8D57} * x.at[2];
    x = {{static_cast<std::uint32_t>(p_1 >> 32) ^ x.at[1] ^ key_0, static_cast<std::uint32_t>(p_1),
          static_cast<std::uint32_t>(p_0 >> 32) ^ x.at[3] ^ key_1, static_cast<std::uint32_t>(p_0)}};
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  return x;
}

// The source of the mask, and its rule. Element e of a row is kept where its 16 bits, number e % 8 of block e / 8 of the row,
// are at least `threshold`, and multiplied with `kept`.
struct DropoutDraw {
  std::uint32_t key[2] = {0, 0};
  std::uint32_t sample = 0, step = 0;
  std::uint32_t threshold = 0;
  float kept = 1;
};

// Row t is position first_position + t of the sample; its columns are elements first_column + i.
struct DropoutRows {
  Dtype dtype = Dtype::fp32;
  std::int64_t T = 0, I = 0;
  std::int64_t first_column = 0, first_position = 0;
};

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
  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(rows.T * draws_of_row(), threads); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const std::int64_t i = block.index() * threads + block.thread(), m = i / draws_of_row();
    if (m >= rows.T) return;
    const std::int64_t number = first_draw() + i % draws_of_row();
    const PhiloxWords bits =
        philox4x32({{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(rows.first_position + m), draw.sample, draw.step}},
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
