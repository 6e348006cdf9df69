// Kernels of flat arrays; contracts in kernels/flat.h: an element's result depends on its own inputs alone, with one rounding per
// arithmetic operation, and has the bits that module cpu gives. Those over elements are bodies of walk.h or stretches.h.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"
#include "cuda/stretches.h"

namespace troika::cuda {

struct AdamWNumbers {
  float lr = 0, beta1 = 0, beta2 = 0, one_minus_beta1 = 0, one_minus_beta2 = 0, eps = 0;
  float m_correction = 1, v_correction = 1;  // 1 / (1 - beta^step)
  float gradient_scale = 1;
};
struct AdamWState {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  float *m = nullptr, *v = nullptr;
};

struct AddInto {
  float* sum;
  const float* other;

  template <int n>
  TROIKA_DEVICE void at(std::int64_t i) const {
    Pack<float, n> a = loaded<n>(sum + i);
    const Pack<float, n> b = loaded<n>(other + i);
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) a.set(j, a[j] + b[j]);
    store<n>(sum + i, a);
  }
};

// sum = before + the parts, in this order; without `before` the first part begins.
template <class From, class To>
struct SumOfParts {
  static constexpr int most = 8;

  const float* before;  // may be null
  const From* part[most];
  int parts;
  To* sum;  // may be one of the parts

  template <int n>
  TROIKA_DEVICE void at(std::int64_t i) const {
    float total[n] = {};
    if (before != nullptr) {
      const Pack<float, n> first = loaded<n>(before + i);
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) total[j] = first[j];
    }
    Pack<From, n> x[most] = {};  // all are on their way before the first is waited for
    TROIKA_UNROLL
    for (int r = 0; r < most; ++r)
      if (r < parts) x[r] = loaded<n>(part[r] + i);
    TROIKA_UNROLL
    for (int r = 0; r < most; ++r) {
      if (r >= parts) continue;
      const bool begins = r == 0 && before == nullptr;
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) total[j] = begins ? x[r][j] : total[j] + x[r][j];
    }
    store<n>(sum + i, total);
  }
};

template <class T>
struct RoundInto {
  const float* master;
  T* rounded;

  template <int n>
  TROIKA_DEVICE void at(std::int64_t i) const {
    const Pack<float, n> from = loaded<n>(master + i);
    Pack<T, n> to;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) to.set(j, from[j]);
    store<n>(rounded + i, to);
  }
};

// The operations, one by one, of cpu/flat.cc.
template <class T>
struct AdamW {
  AdamWNumbers a;
  AdamWState state;
  T* rounded;  // may be null

  template <int n>
  TROIKA_DEVICE void at(std::int64_t i, float decay) const {
    const Pack<float, n> gradient = loaded<n>(state.gradient + i);
    Pack<float, n> p = loaded<n>(state.parameter + i), m = loaded<n>(state.m + i), v = loaded<n>(state.v + i);
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) {
      const float g = gradient[j] * a.gradient_scale;
      m.set(j, m[j] * a.beta1 + g * a.one_minus_beta1);
      v.set(j, v[j] * a.beta2 + g * g * a.one_minus_beta2);
      const float update = m[j] * a.m_correction / (sqrtf(v[j] * a.v_correction) + a.eps) * a.lr;
      p.set(j, p[j] * decay - update);
    }
    store<n>(state.m + i, m);
    store<n>(state.v + i, v);
    store<n>(state.parameter + i, p);
    if (rounded == nullptr) return;
    Pack<T, n> half;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) half.set(j, p[j]);
    store<n>(rounded + i, half);
  }
};

// Adds the bits of words to the low half of *sum.
template <class Word>
struct BitsSum {
  static constexpr int threads = 256;
  static constexpr std::int64_t most_blocks = 1056;
  struct Shared {
    std::uint32_t room[threads / warp];
  };

  const Word* words;
  std::int64_t* sum;
  std::int64_t count;

  TROIKA_HOST_DEVICE std::int64_t blocks() const {
    const std::int64_t all = blocks_for(count, threads * 8);
    return all < most_blocks ? all : most_blocks;
  }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    std::uint32_t here = 0;
    for (std::int64_t i = block.index() * threads + block.thread(); i < count; i += blocks() * threads) here += words[i];
    here = of_block<threads>(block, here, Add(), shared.room);
    if (block.thread() == 0) block.add(reinterpret_cast<std::uint32_t*>(sum), here);
  }
};

struct FloatElements {
  const float* x;
  TROIKA_DEVICE float at(std::int64_t i, float /*value*/) const { return x[i]; }
};

// Pieces of the stretches are chunks. Sixteen threads have one, every sixteenth element each; then one adds theirs in order. That
// is the order of cpu/square_sum-inl.h.
template <class Elements, class Value>
struct ChunkSquares {
  static constexpr int threads = 256, lanes = 16, chunks = threads / lanes;
  struct Shared {
    double of_lanes[chunks][lanes];
  };

  Elements x;
  double* squares;
  Stretches<Value> stretches;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(stretches.pieces(), chunks); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const int lane = block.thread() % lanes, of_block = block.thread() / lanes;
    const std::int64_t index = block.index() * chunks + of_block;
    const auto chunk = stretches.at(index);
    double sum = 0;
    TROIKA_UNROLL_8
    for (std::int64_t i = chunk.begin + lane; i < chunk.end; i += lanes) {
      const double value = x.at(i, chunk.value);
      sum += value * value;
    }
    shared.of_lanes[of_block][lane] = sum;
    block.barrier();
    if (lane > 0 || index >= stretches.pieces()) return;
    for (int i = 1; i < lanes; ++i) sum += shared.of_lanes[of_block][i];
    squares[index] = sum;
  }
};

}  // namespace troika::cuda
