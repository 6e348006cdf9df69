// Stretches of a flat array that follow each other, each with its own number: one kernel does as many as its argument
// holds.
#pragma once

#include <cstdint>

#include "cuda/block.h"

namespace troika::cuda {

template <class Value>
struct Stretch {
  std::int64_t count = 0;  // elements
  Value value{};
};

// Every stretch is cut into pieces of equal length, the last of each may be shorter.
template <class Value>
struct Stretches {
  static constexpr int most = 64;  // an argument has 4096 bytes
  struct Piece {
    std::int64_t begin, end;  // elements; none of a piece behind the last
    Value value;
  };

  int count = 0;
  std::int64_t piece = 1;
  std::int64_t begin[most + 1] = {}, first_piece[most + 1] = {};  // of each stretch, and behind the last
  Value value[most] = {};

  TROIKA_HOST_DEVICE std::int64_t pieces() const { return first_piece[count]; }

  TROIKA_DEVICE Piece at(std::int64_t index) const {
    int low = 0, high = count;  // the last whose first piece is not behind it
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (first_piece[middle] <= index ? low : high) = middle;
    }
    const std::int64_t first = begin[low] + (index - first_piece[low]) * piece, next = first + piece;
    return {first, next < begin[low + 1] ? next : begin[low + 1], value[low]};
  }
};

// of.template at<n>(i, value) does elements [i, i + n) of a stretch.
template <class Of, class Value, int n>
struct EachOfStretches {
  static constexpr int threads = 256;
  static constexpr std::int64_t piece = threads * n;
  using Shared = NoShared;

  Of of;
  Stretches<Value> stretches;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return stretches.pieces(); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const auto here = stretches.at(block.index());
    std::int64_t i = here.begin + block.thread() * n;
    if (i + n <= here.end) {
      of.template at<n>(i, here.value);
    } else {
      for (; i < here.end; ++i) of.template at<1>(i, here.value);
    }
  }
};

}  // namespace troika::cuda
