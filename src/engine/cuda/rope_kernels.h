// Kernels of rope.h. A head's halves, I = H/2 elements each, are turned together: a thread has packs of n neighbouring
// elements of the first half and those I further.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"
#include "cuda/rope.h"
#include "cuda/row_columns.h"
#include "cuda/row_sums_kernels.h"

namespace troika::cuda {

template <class T>  // const or not
struct HeadPointer {
  T* data;
  std::int64_t batch_stride, row_stride, head_stride;
  TROIKA_DEVICE T* at(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return data + b * batch_stride + t * row_stride + head * head_stride;
  }
};

// The place of a head of B x T x n.
struct HeadPlace {
  TROIKA_DEVICE HeadPlace(std::uint32_t index, std::uint32_t T, std::uint32_t n)
      : position(index / n), head(index % n), b(position / T), t(position % T) {}
  std::uint32_t position, head, b, t;
};

template <int n>
struct Angles {
  TROIKA_DEVICE Angles(const RopeRows& rows, const HeadPlace& place, std::int64_t I, std::int64_t i) {
    const std::int64_t at = (rows.row == nullptr ? place.t : rows.row[place.position]) * I + i;
    cos = loaded<n>(rows.cos + at);
    sin = loaded<n>(rows.sin + at);
  }
  Pack<float, n> cos, sin;
};

// A block has 256 packs, one for each thread.
template <class T, int n>
struct RopeKernel {
  static constexpr int threads = 256;
  using Shared = NoShared;

  HeadPointer<const T> x;
  HeadPointer<T> y;
  RopeRows rows;
  std::int64_t B, T_, heads, I;
  float direction;  // 1, or -1 to turn back

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(B * T_ * heads * (I / n), threads); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const std::int64_t packs = I / n, index = block.index() * threads + block.thread();
    if (index >= B * T_ * heads * packs) return;
    const HeadPlace place(static_cast<std::uint32_t>(index / packs), static_cast<std::uint32_t>(T_),
                          static_cast<std::uint32_t>(heads));
    const std::int64_t i = index % packs * n;
    const T* const from = x.at(place.b, place.t, place.head) + i;
    const Pack<T, n> a = loaded<n>(from), b = loaded<n>(from + I);
    const Angles<n> angles(rows, place, I, i);
    Pack<T, n> turned_a, turned_b;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) {
      const float sin = angles.sin[j] * direction;
      turned_a.set(j, a[j] * angles.cos[j] - b[j] * sin);
      turned_b.set(j, b[j] * angles.cos[j] + a[j] * sin);
    }
    T* const to = y.at(place.b, place.t, place.head) + i;
    store<n>(to, turned_a);
    store<n>(to + I, turned_b);
  }
};

// How threads share heads: `lanes` neighbouring ones have a head, each at most `columns` packs of either half, which
// are n * lanes elements apart.
template <int n, int lanes, int columns, class Visit>
TROIKA_DEVICE void each_half_pack(int lane, std::int64_t I, const Visit& visit) {
  TROIKA_UNROLL
  for (int c = 0; c < columns; ++c) {
    const std::int64_t i = static_cast<std::int64_t>(c * lanes + lane) * n;
    if (i < I) visit(c, i);
  }
}

template <class T, int n, int lanes, int columns>
struct QkNormRopeForward {
  static constexpr int threads = 256, groups = threads / lanes;
  using Shared = NoShared;

  HeadPointer<const T> x;
  HeadPointer<T> y;
  const T* w;  // 2 I
  float added;  // to w
  RopeRows rows;
  float* rstd;  // B x T x heads or null
  std::int64_t B, T_, heads, I;
  float eps;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(B * T_ * heads, groups); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const int lane = block.thread() % lanes;
    const std::int64_t index = block.index() * groups + block.thread() / lanes;
    const bool any = index < B * T_ * heads;  // the warp exchanges lanes, so no thread leaves
    const HeadPlace place(static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(T_),
                          static_cast<std::uint32_t>(heads));
    const std::int64_t width = any ? I : 0;
    const T* const from = x.at(place.b, place.t, place.head);
    constexpr int kept = columns == 1 ? 1 : 0;  // many columns would not fit the registers
    KeptRow<T, n, kept> as, bs;
    float squares = 0;
    each_half_pack<n, lanes, columns>(lane, width, [&](int c, std::int64_t i) {
      const Pack<T, n> a = as.keep(c * kept, loaded<n>(from + i)), b = bs.keep(c * kept, loaded<n>(from + I + i));
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) squares += a[j] * a[j] + b[j] * b[j];
    });
    squares = of_lanes<lanes>(block, squares, Add());
    const float scale = 1.0f / sqrtf(squares / static_cast<float>(2 * I) + eps);
    if (any && rstd != nullptr && lane == 0) rstd[index] = scale;
    T* const to = y.at(place.b, place.t, place.head);
    each_half_pack<n, lanes, columns>(lane, width, [&](int c, std::int64_t i) {
      const Pack<T, n> a = as.again(c * kept, from + i), b = bs.again(c * kept, from + I + i);
      const Pack<T, n> wa = loaded<n>(w + i), wb = loaded<n>(w + I + i);
      const Angles<n> angles(rows, place, I, i);
      Pack<T, n> turned_a, turned_b;
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) {
        const float normed_a = a[j] * scale * (wa[j] + added), normed_b = b[j] * scale * (wb[j] + added);
        turned_a.set(j, normed_a * angles.cos[j] - normed_b * angles.sin[j]);
        turned_b.set(j, normed_b * angles.cos[j] + normed_a * angles.sin[j]);
      }
      store<n>(to + i, turned_a);
      store<n>(to + I + i, turned_b);
    });
  }
};

// A block has a share of the heads and leaves their part of dw as a row of partial sums.
template <class T, int n, int lanes, int columns>
struct QkNormRopeBackward {
  static constexpr int threads = 256, groups = threads / lanes, most_I = lanes * n * columns;
  struct Shared {
    float dw[groups][2 * most_I];
  };

  HeadPointer<const T> dy, x;
  HeadPointer<T> dx;
  const T* w;  // 2 I
  float added;  // to w
  RopeRows rows;
  const float* rstd;  // B x T x heads
  float* partial_dw;  // shares x 2 I
  std::int64_t B, T_, heads, I, shares;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return shares; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const int lane = block.thread() % lanes, group = block.thread() / lanes;
    const RowShare share(B * T_ * heads, shares, block.index());
    float dwa[columns][n] = {}, dwb[columns][n] = {};
    // All threads go as often: the warp exchanges lanes.
    for (std::int64_t first = share.begin; first < share.end; first += groups)
      backward_head(block, first + group < share.end ? I : 0, first + group, dwa, dwb);
    TROIKA_UNROLL
    for (int c = 0; c < columns; ++c) {
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) {
        shared.dw[group][(c * lanes + lane) * n + j] = dwa[c][j];
        shared.dw[group][most_I + (c * lanes + lane) * n + j] = dwb[c][j];
      }
    }
    block.barrier();
    for (std::int64_t h = block.thread(); h < 2 * I; h += threads) {
      const std::int64_t at = h < I ? h : most_I + h - I;
      float sum = 0;
      for (int i = 0; i < groups; ++i) sum += shared.dw[i][at];
      partial_dw[block.index() * 2 * I + h] = sum;
    }
  }

 private:
  // width: I, or 0 for no head.
  template <class Block>
  TROIKA_DEVICE void backward_head(const Block& block, std::int64_t width, std::int64_t index, float (&dwa)[columns][n],
                                   float (&dwb)[columns][n]) const {
    const int lane = block.thread() % lanes;
    const HeadPlace place(static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(T_),
                          static_cast<std::uint32_t>(heads));
    const T* const from = x.at(place.b, place.t, place.head);
    const T* const dfrom = dy.at(place.b, place.t, place.head);
    const float scale = width > 0 ? rstd[index] : 0;
    Pack<T, n> a[columns], b[columns];
    float da[columns][n], db[columns][n];  // gradients of the normed head
    float along = 0;
    each_half_pack<n, lanes, columns>(lane, width, [&](int c, std::int64_t i) {
      a[c] = loaded<n>(from + i);
      b[c] = loaded<n>(from + I + i);
      const Pack<T, n> dya = loaded<n>(dfrom + i), dyb = loaded<n>(dfrom + I + i);
      const Pack<T, n> wa = loaded<n>(w + i), wb = loaded<n>(w + I + i);
      const Angles<n> angles(rows, place, I, i);
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) {
        const float back_a = dya[j] * angles.cos[j] + dyb[j] * angles.sin[j];
        const float back_b = dyb[j] * angles.cos[j] - dya[j] * angles.sin[j];
        const float normed_a = a[c][j] * scale, normed_b = b[c][j] * scale;
        dwa[c][j] += back_a * normed_a;
        dwb[c][j] += back_b * normed_b;
        da[c][j] = back_a * (wa[j] + added);
        db[c][j] = back_b * (wb[j] + added);
        along += da[c][j] * normed_a + db[c][j] * normed_b;
      }
    });
    along = of_lanes<lanes>(block, along, Add()) / static_cast<float>(2 * I);
    T* const to = dx.at(place.b, place.t, place.head);
    each_half_pack<n, lanes, columns>(lane, width, [&](int c, std::int64_t i) {
      Pack<T, n> dxa, dxb;
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) {
        dxa.set(j, (da[c][j] - a[c][j] * scale * along) * scale);
        dxb.set(j, (db[c][j] - b[c][j] * scale * along) * scale);
      }
      store<n>(to + i, dxa);
      store<n>(to + I + i, dxb);
    });
  }
};

}  // namespace troika::cuda
