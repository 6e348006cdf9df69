// Kernels of the activations of feed-forward layers; formulas and their sources in kernels/rows.h.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"
#include "cuda/walk.h"

namespace troika::cuda {

// 1 / (1 + e^-x) and 1 minus it, both without cancellation or overflow.
struct Sigmoid {
  explicit TROIKA_DEVICE Sigmoid(float x) {
    const float e = expf(-fabsf(x)), large = 1.0f / (1.0f + e), small = e * large;
    s = x < 0 ? small : large;
    rest = x < 0 ? large : small;
  }
  float s, rest;
};

// 0.5 (1 + tanh(u)) is the sigmoid of 2 u; 2 u = x (a + b x^2).
inline constexpr float gelu_a = 1.5957691216f, gelu_b = 0.0713548163f;  // 2 sqrt(2 / pi) and 0.044715 times that

// act(x) is x times the sigmoid of an argument. slope: x times its derivative.
enum class Gate { silu, gelu };
struct Silu {
  static TROIKA_DEVICE float argument(float x) { return x; }
  static TROIKA_DEVICE float slope(float x) { return x; }
};
struct Gelu {
  static TROIKA_DEVICE float argument(float x) { return x * (x * x * gelu_b + gelu_a); }
  static TROIKA_DEVICE float slope(float x) { return x * (x * x * (3 * gelu_b) + gelu_a); }
};

template <class Of, class T, int n>
struct GatedForward {
  static constexpr int threads = row_pack_threads;
  using Shared = NoShared;

  const T* gate_up;  // M x 2F
  T* h;              // M x F
  std::int64_t M, F;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M * RowPack<n>::blocks_of_row(F); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const RowPack<n> at(block, F);
    if (at.i >= F) return;
    const T* const from = gate_up + at.row * 2 * F + at.i;
    const Pack<T, n> gate = loaded<n>(from), up = loaded<n>(from + F);
    Pack<T, n> out;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) out.set(j, gate[j] * Sigmoid(Of::argument(gate[j])).s * up[j]);
    store<n>(h + at.row * F + at.i, out);
  }
};

template <class Of, class T, int n>
struct GatedBackward {
  static constexpr int threads = row_pack_threads;
  using Shared = NoShared;

  const T* dh;       // M x F
  const T* gate_up;  // M x 2F
  T* dgate_up;       // M x 2F, rows `stride` apart
  std::int64_t M, F, stride;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M * RowPack<n>::blocks_of_row(F); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const RowPack<n> at(block, F);
    if (at.i >= F) return;
    const T* const from = gate_up + at.row * 2 * F + at.i;
    const Pack<T, n> gate = loaded<n>(from), up = loaded<n>(from + F), dh_i = loaded<n>(dh + at.row * F + at.i);
    Pack<T, n> dgate, dup;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) {
      const Sigmoid of(Of::argument(gate[j]));
      dgate.set(j, (Of::slope(gate[j]) * of.s * of.rest + of.s) * up[j] * dh_i[j]);  // act'(x) = s + slope s (1 - s)
      dup.set(j, gate[j] * of.s * dh_i[j]);
    }
    T* const to = dgate_up + at.row * stride + at.i;
    store<n>(to, dgate);
    store<n>(to + F, dup);
  }
};

template <class T, int n>
struct GeluForward {
  static constexpr int threads = row_pack_threads;
  using Shared = NoShared;

  const T* x;  // M x F
  T* y;        // M x F
  std::int64_t M, F;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M * RowPack<n>::blocks_of_row(F); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const RowPack<n> at(block, F);
    if (at.i >= F) return;
    const Pack<T, n> in = loaded<n>(x + at.row * F + at.i);
    Pack<T, n> out;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) out.set(j, in[j] * Sigmoid(in[j] * (in[j] * in[j] * gelu_b + gelu_a)).s);
    store<n>(y + at.row * F + at.i, out);
  }
};

template <class T, int n>
struct GeluBackward {
  static constexpr int threads = row_pack_threads;
  using Shared = NoShared;

  const T* dy;  // M x F
  const T* x;   // M x F
  T* dx;        // M x F, rows `stride` apart
  std::int64_t M, F, stride;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M * RowPack<n>::blocks_of_row(F); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const RowPack<n> at(block, F);
    if (at.i >= F) return;
    const Pack<T, n> in = loaded<n>(x + at.row * F + at.i), dy_i = loaded<n>(dy + at.row * F + at.i);
    Pack<T, n> out;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) {
      const float square = in[j] * in[j];
      const Sigmoid of(in[j] * (square * gelu_b + gelu_a));
      const float slope = in[j] * (square * (3 * gelu_b) + gelu_a);  // x d(2 u)/dx
      out.set(j, (slope * of.rest * of.s + of.s) * dy_i[j]);
    }
    store<n>(dx + at.row * stride + at.i, out);
  }
};

}  // namespace troika::cuda
