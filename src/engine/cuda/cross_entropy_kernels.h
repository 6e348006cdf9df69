// Kernels for rows of logits: log-sum-exp and its gradient; contracts in kernels/vocabulary.h.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"
#include "cuda/own_row.h"
#include "cuda/walk.h"

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

// A block per row. Where it keeps the logits less their sum, it reads a row again, which then is in the cache.
template <class Kept, int n>
struct LogSumExp {
  static constexpr int threads = 512;
  struct Shared {
    float most[threads / warp], sum[threads / warp];
  };

  const float* x;  // M x v, rows `stride` apart
  float* lse;      // M
  Kept* kept;      // M x v, dense; may be null
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
    const float found = shift + logf(sum);
    if (block.thread() == 0) lse[block.index()] = found;
    if (kept == nullptr) return;
    Kept* const to = kept + block.index() * v;
    for (std::int64_t i = static_cast<std::int64_t>(block.thread()) * n; i < whole; i += threads * n) {
      const Pack<float, n> logits = loaded<n>(row + i);
      float less[n];
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) less[j] = logits[j] - found;
      store(to + i, less);
    }
    for (std::int64_t i = whole + block.thread(); i < v; i += threads) to[i] = rounded<Kept>(row[i] - found);
  }
};

// The values that a row's elements become.
struct LogitGradient {
  float less, factor;  // log-sum-exp, weight
  std::int64_t target;
  TROIKA_DEVICE float operator()(float logit, std::int64_t i) const {
    return factor * (expf(logit - less) - (target == i ? 1.0f : 0.0f));
  }
};

// The number of each row.
struct LogitGradients {
  const float* lse;            // M
  const std::int64_t* column;  // M
  const float* weight;         // M
  TROIKA_DEVICE LogitGradient of(std::int64_t row) const { return {lse[row], weight[row], column[row]}; }
};

template <class T, int n>
struct CrossEntropyGradient {
  static constexpr int threads = row_pack_threads;
  using Shared = NoShared;

  T* x;  // M x v, rows `stride` apart
  LogitGradients gradients;
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
    const LogitGradient gradient = gradients.of(row);
    T* const to = x + row * stride + i;
    Pack<T, width> logits = loaded<width>(to);
    TROIKA_UNROLL
    for (int j = 0; j < width; ++j) logits.set(j, gradient(logits[j], i + j));
    store<width>(to, logits);
  }
};

// A gradient in halves from logits in fp32, each row in the first half of its own.
template <class To, int n>
struct NarrowedGradient {
  static constexpr int threads = 256;
  using Shared = NoShared;

  float* x;  // M x v, rows `stride` apart
  LogitGradients gradients;
  std::int64_t M, v, stride;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const LogitGradient gradient = gradients.of(block.index());
    float* const row[1] = {x + block.index() * stride};
    rewrite_rows<To, n, threads>(block, row, v, [&](float(&at)[1], std::int64_t i) { at[0] = gradient(at[0], i); });
  }
};

// Bodies of walk.h, over rows.

// The logit in the row's column, 0 where the column is none.
struct LogitOfColumn {
  const float* x;
  const std::int64_t* column;
  float* logit;
  std::int64_t v, stride;
  template <int n>
  TROIKA_DEVICE void at(std::int64_t row) const {
    const std::int64_t i = column[row];
    logit[row] = i >= 0 && i < v ? x[row * stride + i] : 0.0f;
  }
};

struct ColumnOfTarget {
  const std::int64_t* target;
  std::int64_t* column;
  std::int64_t first;
  template <int n>
  TROIKA_DEVICE void at(std::int64_t row) const {
    column[row] = target[row] - first;
  }
};

struct WeightOfTarget {
  const std::int64_t* target;
  float* weight;
  std::int64_t none;
  float scale;
  template <int n>
  TROIKA_DEVICE void at(std::int64_t row) const {
    weight[row] = target[row] == none ? 0.0f : scale;
  }
};

// One comparison orders the two, so that not-a-number on either side stays in the difference and comes out.
struct LogAddExp {
  const float *a, *b;
  float* sum;
  template <int n>
  TROIKA_DEVICE void at(std::int64_t i) const {
    const float larger = a[i] < b[i] ? b[i] : a[i], smaller = a[i] < b[i] ? a[i] : b[i];
    sum[i] = smaller == float_of(minus_infinity_bits) ? larger : larger + log1pf(expf(smaller - larger));
  }
};

// The sum of lse - logit over the rows that have a target, and how many those are. One block; one thread adds, in the order of
// the rows, what the others read.
struct LossSum {
  static constexpr int threads = 512;
  struct Shared {
    double loss[threads];
    bool counts[threads];
  };

  const float *lse, *logit;    // M
  const std::int64_t* target;  // M
  double* sum;                 // 2
  std::int64_t M, none;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return 1; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    double loss = 0, rows = 0;
    for (std::int64_t begin = 0; begin < M; begin += threads) {
      const std::int64_t row = begin + block.thread();
      if (begin > 0) block.barrier();
      shared.counts[block.thread()] = row < M && target[row] != none;
      shared.loss[block.thread()] = row < M ? static_cast<double>(lse[row] - logit[row]) : 0;
      block.barrier();
      if (block.thread() > 0) continue;
      for (int i = 0; i < threads; ++i) {
        if (!shared.counts[i]) continue;
        loss += shared.loss[i];
        rows += 1;
      }
    }
    if (block.thread() > 0) return;
    sum[0] = loss;
    sum[1] = rows;
  }
};

// M rows of v logits; row i begins at i * stride.
struct LogitRows {
  std::int64_t M = 0, v = 0, stride = 0;
};

// For each row: its log-sum-exp, its target column, and how much its loss counts.
struct RowTargets {
  const float* lse = nullptr;
  const std::int64_t* column = nullptr;
  const float* weight = nullptr;
};

}  // namespace troika::cuda
