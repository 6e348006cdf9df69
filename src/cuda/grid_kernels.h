// Kernels of grid.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"

namespace troika::cuda {

// What is done with n elements that were scaled, in double, where a float times a power of two is exact. i: of the
// first.
struct RoundInPlace {
  float* to;
  double back;
  template <int n>
  TROIKA_DEVICE void give(const double (&scaled)[n], bool /*any*/, std::int64_t i) const {
    Pack<float, n> out;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) out.set(j, static_cast<float>(rint(scaled[j]) * back));
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
  TROIKA_DEVICE void give(const double (&scaled)[n], bool /*any*/, std::int64_t i) const {
    constexpr int width = Integers<n>::width;
    TROIKA_UNROLL
    for (int j = 0; j < n; j += width) {
      Vector<std::int64_t, width> q;
      for (int k = 0; k < width; ++k) q.at[k] = static_cast<std::int64_t>(rint(scaled[j + k]));
      *reinterpret_cast<Vector<std::int64_t, width>*>(sum + i + j) = q;
    }
  }
};

// Of the table of a vocabulary one microbatch touches few rows: where nothing is added, the sum is not read and
// written.
struct AddIntegers {
  std::int64_t* sum;
  template <int n>
  TROIKA_DEVICE void give(const double (&scaled)[n], bool any, std::int64_t i) const {
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

// A block has pieces of threads * n elements, several where there are more than most_blocks: few blocks meet at
// `largest`.
template <class Give, int n>
struct Convert {
  static constexpr int threads = 256;
  struct Shared {
    std::uint32_t room[threads / warp];
  };

  Give give;
  const float* x;
  double scale;
  std::uint32_t* largest;
  std::int64_t count, most_blocks;

  TROIKA_HOST_DEVICE std::int64_t blocks() const {
    const std::int64_t pieces = blocks_for(count, threads * n);
    return pieces < most_blocks ? pieces : most_blocks;
  }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    std::uint32_t most = 0;
    for (std::int64_t i = (block.index() * threads + block.thread()) * n; i < count; i += blocks() * threads * n) {
      if (i + n <= count) {
        most = Larger()(most, convert<n>(i));
      } else {
        for (std::int64_t j = i; j < count; ++j) most = Larger()(most, convert<1>(j));
      }
    }
    most = of_block<threads>(block, most, Larger(), shared.room);
    if (block.thread() == 0 && largest != nullptr) block.raise(largest, most);
  }

 private:
  template <int width>
  TROIKA_DEVICE std::uint32_t convert(std::int64_t i) const {
    const Pack<float, width> g = loaded<width>(x + i);
    std::uint32_t most = 0;
    double scaled[width];
    TROIKA_UNROLL
    for (int j = 0; j < width; ++j) {
      most = Larger()(most, bits_of(g[j]) & 0x7fffffffu);
      scaled[j] = static_cast<double>(g[j]) * scale;
    }
    give.template give<width>(scaled, most > 0, i);
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

// Elements of what from_integers gives.
struct IntegerElements {
  const std::int64_t* sum;
  double back;
  TROIKA_DEVICE float operator[](std::int64_t i) const {
    return static_cast<float>(static_cast<double>(sum[i]) * back);
  }
};

struct FromIntegers {
  IntegerElements from;
  float* x;
  template <int n>
  TROIKA_DEVICE void at(std::int64_t i) const {
    Pack<float, n> out;
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) out.set(j, from[i + j]);
    store<n>(x + i, out);
  }
};

}  // namespace troika::cuda
