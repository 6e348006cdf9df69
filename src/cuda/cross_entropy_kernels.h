// Kernels of cross_entropy.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"
#include "cuda/row_packs.h"

namespace troika::cuda {

inline constexpr std::uint32_t minus_infinity_bits = 0xff800000;

// The largest value so far, and n sums of exponentials less it: fewer additions follow each other.
template <int n>
struct OnlineSum {
  TROIKA_DEVICE OnlineSum() : most(float_of(minus_infinity_bits)) {
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) sums[j] = 0;
  }
  template <int width>
  TROIKA_DEVICE void add(const Pack<float, width>& x) {
    float above = most;
    TROIKA_UNROLL
    for (int j = 0; j < width; ++j) above = Larger()(above, x[j]);
    if (above > most) {
      const float factor = expf(most - above);
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) sums[j] *= factor;
      most = above;
    }
    TROIKA_UNROLL
    for (int j = 0; j < width; ++j) sums[j] += expf(x[j] - shift(most));
  }
  // -inf less itself is no number.
  static TROIKA_DEVICE float shift(float most) { return most == float_of(minus_infinity_bits) ? 0 : most; }

  float most, sums[n];
};

// A block per row.
template <int n>
struct LogSumExp {
  static constexpr int threads = 512;
  struct Shared {
    float most[threads / warp], sum[threads / warp];
  };

  const float* x;  // M x v, rows `stride` apart
  float* lse;      // M
  std::int64_t M, v, stride;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const float* const row = x + block.index() * stride;
    const std::int64_t whole = v / n * n;
    OnlineSum<n> of;
    for (std::int64_t i = static_cast<std::int64_t>(block.thread()) * n; i < whole; i += threads * n)
      of.add(loaded<n>(row + i));
    for (std::int64_t i = whole + block.thread(); i < v; i += threads) of.add(loaded<1>(row + i));
    const float most = of_block<threads>(block, of.most, Larger(), shared.most), shift = OnlineSum<n>::shift(most);
    float sum = of.sums[0];
    TROIKA_UNROLL
    for (int j = 1; j < n; ++j) sum += of.sums[j];
    sum = of_block<threads>(block, sum * expf(of.most - shift), Add(), shared.sum);
    if (block.thread() == 0) lse[block.index()] = shift + logf(sum);
  }
};

template <int n>
struct CrossEntropyGradient {
  static constexpr int threads = row_pack_threads;
  using Shared = NoShared;

  float* x;                    // M x v, rows `stride` apart
  const float* lse;            // M
  const std::int64_t* column;  // M
  const float* weight;         // M
  std::int64_t M, v, stride;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M * RowPack<n>::blocks_of_row(v); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const RowPack<n> at(block, v);
    if (at.i + n <= v) {
      turn<n>(at.row, at.i);
    } else {
      for (std::int64_t i = at.i; i < v; ++i) turn<1>(at.row, i);
    }
  }

 private:
  template <int width>
  TROIKA_DEVICE void turn(std::int64_t row, std::int64_t i) const {
    const float less = lse[row], factor = weight[row];
    const std::int64_t target = column[row];
    float* const to = x + row * stride + i;
    Pack<float, width> logits = loaded<width>(to);
    TROIKA_UNROLL
    for (int j = 0; j < width; ++j) logits.set(j, factor * (expf(logits[j] - less) - (target == i + j ? 1.0f : 0.0f)));
    store<width>(to, logits);
  }
};

}  // namespace troika::cuda
