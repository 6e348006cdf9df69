// Kernels of grid_dispatch.h.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"
#include "cuda/stretches.h"

namespace troika::cuda {

// The grid of a stretch: powers of two whose product is 1, and the index of its largest magnitude.
struct Grid {
  double scale = 1, back = 1;
  std::int64_t index = 0;
};

// The operation on n elements that were scaled, in double, where a float times a power of two is exact. i: of the
// first.
struct RoundInPlace {
  float* to;
  template <int n>
  TROIKA_DEVICE void give(const double (&scaled)[n], bool /*any*/, const Grid& grid, std::int64_t i) const {
    Pack<float, n> out;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) out.set(j, static_cast<float>(rint(scaled[j]) * grid.back));
    store<n>(to + i, out);
  }
};

// The nearest integers in pieces of 16 bytes.
template <int n>
struct Integers {
  static constexpr int width = n < 2 ? n : 2;
  Vector<std::int64_t, width> part[n / width];
};

struct SetIntegers {
  std::int64_t* sum;
  template <int n>
  TROIKA_DEVICE void give(const double (&scaled)[n], bool /*any*/, const Grid& /*grid*/, std::int64_t i) const {
    constexpr int width = Integers<n>::width;
    TROIKA_UNROLL
    for (int j = 0; j < n; j += width) {
      Vector<std::int64_t, width> q;
      for (int k = 0; k < width; ++k) q.at[k] = static_cast<std::int64_t>(rint(scaled[j + k]));
      *reinterpret_cast<Vector<std::int64_t, width>*>(sum + i + j) = q;
    }
  }
};

// One microbatch touches few rows of a vocabulary's table: where nothing is added, the sum is not read and
// written.
struct AddIntegers {
  std::int64_t* sum;
  template <int n>
  TROIKA_DEVICE void give(const double (&scaled)[n], bool any, const Grid& /*grid*/, std::int64_t i) const {
    constexpr int width = Integers<n>::width;
    if (!any) return;
    TROIKA_UNROLL
    for (int j = 0; j < n; j += width) {
      auto* const at = reinterpret_cast<Vector<std::int64_t, width>*>(sum + i + j);
      Vector<std::int64_t, width> q = *at;
      for (int k = 0; k < width; ++k) q.at[k] += static_cast<std::int64_t>(rint(scaled[j + k]));
      *at = q;
    }
  }
};

// A block has a piece of so many elements that few blocks meet at a stretch's largest magnitude.
template <class Give, int n>
struct Convert {
  static constexpr int threads = 256;
  static constexpr std::int64_t piece = threads * n * 16;
  struct Shared {
    std::uint32_t room[threads / warp];
  };

  Give give;
  const float* x;
  std::uint32_t* largest;
  Stretches<Grid> stretches;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return stretches.pieces(); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const auto here = stretches.at(block.index());
    std::uint32_t most = 0;
    for (std::int64_t i = here.begin + block.thread() * n; i < here.end; i += threads * n) {
      if (i + n <= here.end) {
        most = Larger()(most, convert<n>(i, here.value));
      } else {
        for (std::int64_t j = i; j < here.end; ++j) most = Larger()(most, convert<1>(j, here.value));
      }
    }
    most = of_block<threads>(block, most, Larger(), shared.room);
    if (block.thread() == 0 && largest != nullptr) block.raise(largest + here.value.index, most);
  }

 private:
  template <int width>
  TROIKA_DEVICE std::uint32_t convert(std::int64_t i, const Grid& grid) const {
    const Pack<float, width> g = loaded<width>(x + i);
    std::uint32_t most = 0;
    double scaled[width];
    TROIKA_UNROLL
    for (int j = 0; j < width; ++j) {
      most = Larger()(most, bits_of(g[j]) & 0x7fffffffu);
      scaled[j] = static_cast<double>(g[j]) * grid.scale;
    }
    give.template give<width>(scaled, most > 0, grid, i);
    return most;
  }
};

// Rows that are added to those of a matrix that `row` names, as far as they lie in the part [first, first + count) of its
// elements.
struct AddRowsOnGrid {
  static constexpr int threads = 256;
  struct Shared {
    std::uint32_t room[threads / warp];
  };

  std::int64_t* sum;
  const std::int64_t* row;  // each once
  const float* x;           // rows x D
  double scale;
  std::uint32_t* largest;
  std::int64_t first, count, rows, D, most_blocks;

  TROIKA_HOST_DEVICE std::int64_t blocks() const {
    const std::int64_t pieces = blocks_for(rows * D, threads);
    return pieces < most_blocks ? pieces : most_blocks;
  }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    std::uint32_t most = 0;
    for (std::int64_t i = block.index() * threads + block.thread(); i < rows * D; i += blocks() * threads) {
      most = Larger()(most, bits_of(x[i]) & 0x7fffffffu);
      const std::int64_t at = row[i / D] * D + i % D - first;
      if (at >= 0 && at < count) sum[at] += static_cast<std::int64_t>(rint(static_cast<double>(x[i]) * scale));
    }
    most = of_block<threads>(block, most, Larger(), shared.room);
    if (block.thread() == 0 && largest != nullptr) block.raise(largest, most);
  }
};

// Elements of what from_integers gives; `back` is 2^-shift.
struct IntegerElements {
  const std::int64_t* sum;
  TROIKA_DEVICE float at(std::int64_t i, double back) const { return static_cast<float>(static_cast<double>(sum[i]) * back); }
};

struct FromIntegers {
  IntegerElements from;
  float* x;
  template <int n>
  TROIKA_DEVICE void at(std::int64_t i, double back) const {
    Pack<float, n> out;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) out.set(j, from.at(i + j, back));
    store<n>(x + i, out);
  }
};

}  // namespace troika::cuda
