// Kernels of the operations between the products of attention; contracts in kernels/attention.h.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/cross_entropy_kernels.h"
#include "cuda/number.h"
#include "cuda/own_row.h"

namespace troika::cuda {

// Scores of a chunk of T queries of one sequence with S of its keys, in fp32. Row r is of the head r / T of `heads`, and of
// the query r % T; rows are `stride` elements apart. Statistics of (head, query) are at head * statistics_stride + query.
struct ScoreRows {
  std::int64_t heads = 0, T = 0, S = 0, stride = 0, statistics_stride = 0;
  std::int64_t first_query = 0;  // its position less that of the first key
  std::int64_t window = 0;       // kernels::ScoreRule
  float scale = 1;               // of the scores
};

// [B, T, n, H] beside statistics [B, n, T].
struct HeadRows {
  std::int64_t B = 0, T = 0, n = 0, H = 0;
};

// The keys of a row that its query sees: from `begin` to before `end`.
struct SeenKeys {
  TROIKA_DEVICE SeenKeys(const ScoreRows& rows, std::int64_t row) {
    end = rows.first_query + row % rows.T + 1;
    begin = rows.window > 0 ? end - rows.window : 0;
    if (end > rows.S) end = rows.S;
  }
  TROIKA_DEVICE bool has(std::int64_t i) const { return i >= begin && i < end; }
  std::int64_t begin, end;
};

inline constexpr int score_threads = 128;

TROIKA_DEVICE std::int64_t statistic_of(const ScoreRows& rows, std::int64_t row) {
  return row / rows.T * rows.statistics_stride + row % rows.T;
}

// Scores become weights, exp(scale * score - log-sum-exp), 0 for keys that are not seen. A block per row.
template <class To, int n>
struct Softmax {
  static constexpr int threads = score_threads;
  struct Shared {
    float most[threads / warp], sum[threads / warp];
  };

  ScoreRows rows;
  float *scores, *lse;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return rows.heads * rows.T; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const SeenKeys seen(rows, block.index());
    float* const row[1] = {scores + block.index() * rows.stride};
    OnlineSum<n> of;
    for (std::int64_t i = static_cast<std::int64_t>(block.thread()) * n; i < seen.end; i += threads * n) {
      Pack<float, n> x = loaded<n>(row[0] + i);
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) x.set(j, seen.has(i + j) ? x[j] * rows.scale : float_of(minus_infinity_bits));
      of.add(x);
    }
    const float most = of_block<threads>(block, of.most, Larger(), shared.most), shift = OnlineSum<n>::shift(most);
    float sum = of.sums[0];
    TROIKA_UNROLL
    for (int j = 1; j < n; ++j) sum += of.sums[j];
    sum = of_block<threads>(block, sum * expf(of.most - shift), Add(), shared.sum);
    const float found = shift + logf(sum);
    if (block.thread() == 0) lse[statistic_of(rows, block.index())] = found;
    rewrite_rows<To, n, threads>(block, row, rows.S, [&](float(&at)[1], std::int64_t i) {
      at[0] = seen.has(i) ? expf(at[0] * rows.scale - found) : 0.0f;
    });
  }
};

// Scores become weights P, and the gradients of weights, dP, those of the scores before scaling: P * (dP - D) * scale. D: the
// sum of out * dout. A block per row.
template <class To, int n>
struct SoftmaxGradient {
  static constexpr int threads = score_threads;
  using Shared = NoShared;

  ScoreRows rows;
  float *scores, *gradients;
  const float *lse, *dots;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return rows.heads * rows.T; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const SeenKeys seen(rows, block.index());
    const std::int64_t at_row = block.index() * rows.stride, statistic = statistic_of(rows, block.index());
    float* const row[2] = {scores + at_row, gradients + at_row};
    const float less = lse[statistic], dot = dots[statistic];
    rewrite_rows<To, n, threads>(block, row, rows.S, [&](float(&at)[2], std::int64_t i) {
      at[0] = seen.has(i) ? expf(at[0] * rows.scale - less) : 0.0f;
      at[1] = seen.has(i) ? at[0] * (at[1] - dot) * rows.scale : 0.0f;
    });
  }
};

// The sum of a * b over each head of each row. A warp has one.
template <class T>
struct HeadDots {
  static constexpr int threads = 128, of_block = threads / warp;
  using Shared = NoShared;

  HeadRows rows;
  const T *a, *b;  // B x T x n x H
  float* dots;     // B x n x T

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(rows.B * rows.T * rows.n, of_block); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const std::int64_t row = block.index() * of_block + block.thread() / warp;
    const bool is_there = row < rows.B * rows.T * rows.n;
    float sum = 0;
    if (is_there) {
      for (std::int64_t i = block.thread() % warp; i < rows.H; i += warp)
        sum += to_float(a[row * rows.H + i]) * to_float(b[row * rows.H + i]);
    }
    sum = of_lanes<warp>(block, sum, Add());
    if (!is_there || block.thread() % warp != 0) return;
    const std::int64_t position = row / rows.n;
    dots[(position / rows.T * rows.n + row % rows.n) * rows.T + position % rows.T] = sum;
  }
};

// Bodies of walk.h.

// The outputs of two parts, each times its share exp(lse - total); none of a part that saw no key.
struct SumOfShares {
  HeadRows rows;
  const float *a, *b, *lse_a, *lse_b, *lse;
  float* sum;
  template <int n>
  TROIKA_DEVICE void at(std::int64_t i) const {
    const std::int64_t row = i / rows.H, position = row / rows.n;
    const std::int64_t of = (position / rows.T * rows.n + row % rows.n) * rows.T + position % rows.T;
    const float shift = OnlineSum<1>::shift(lse[of]);
    sum[i] = a[i] * expf(lse_a[of] - shift) + b[i] * expf(lse_b[of] - shift);
  }
};

}  // namespace troika::cuda
