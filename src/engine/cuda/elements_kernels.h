// The operations on one element of two arrays (walk.h): copies with a conversion, sums, products with a number, fillings; and
// rows by index. As on the host: halves are computed in fp32 and rounded once.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/block.h"
#include "cuda/number.h"

namespace troika::cuda {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Bf16> || std::is_same_v<T, Fp16>;

// The type an element is computed in.
template <class T>
using Wide = std::conditional_t<is_half<T>, float, T>;

template <class T>
TROIKA_HOST_DEVICE Wide<T> widened(T x) {
  if constexpr (is_half<T>) {
    return to_float(x);
  } else {
    return x;
  }
}

template <class To, class From>
TROIKA_HOST_DEVICE To converted(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_half<To>) {
    return rounded<To>(static_cast<float>(widened(x)));
  } else {
    return static_cast<To>(widened(x));
  }
}

template <class To, class From>
struct CopyElement {
  To* to;
  const From* from;
  TROIKA_DEVICE void operator()(std::int64_t a, std::int64_t b) const { to[a] = converted<To>(from[b]); }
};

// sum += scale * x; a scale of fp32 sums is in fp64.
template <class To, class From>
struct AddElement {
  using Factor = std::conditional_t<std::is_same_v<Wide<To>, float>, double, Wide<To>>;
  To* sum;
  const From* x;
  Factor scale;
  TROIKA_DEVICE void operator()(std::int64_t a, std::int64_t b) const {
    const Wide<To> before = widened(sum[a]), more = static_cast<Wide<To>>(widened(x[b]));
    const Wide<To> after = scale == Factor(1)
                               ? static_cast<Wide<To>>(before + more)
                               : static_cast<Wide<To>>(static_cast<Factor>(before) + scale * static_cast<Factor>(more));
    sum[a] = converted<To>(after);
  }
};

template <class T>
struct FillElement {
  T* to;
  T value;
  TROIKA_DEVICE void operator()(std::int64_t a, std::int64_t /*b*/) const { to[a] = value; }
};

template <class T>
struct MultiplyElement {
  T* x;
  Wide<T> factor;
  TROIKA_DEVICE void operator()(std::int64_t a, std::int64_t /*b*/) const {
    x[a] = converted<T>(static_cast<Wide<T>>(widened(x[a]) * factor));
  }
};

// Rows of `width` elements: to[i] = from[row[i]], or to[row[i]] = from[i]. A row outside is left out.
template <class T>
struct MoveRows {
  static constexpr int threads = 256;
  using Shared = NoShared;
  enum class Way { gather, scatter };

  T* to;
  const T* from;
  const std::int64_t* row;
  std::int64_t count, held, width;
  Way way;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(count * width, threads); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const std::int64_t place = block.index() * threads + block.thread();
    if (place >= count * width) return;
    const std::int64_t i = place / width, column = place % width, other = row[i];
    if (other < 0 || other >= held) return;
    if (way == Way::gather) {
      to[place] = from[other * width + column];
    } else {
      to[other * width + column] = from[place];
    }
  }
};

// sum[row[i]] += x[i] in the order of i: a thread has a column.
template <class To, class From>
struct AddRows {
  static constexpr int threads = 128;
  using Shared = NoShared;

  To* sum;
  const From* x;
  const std::int64_t* row;
  std::int64_t count, held, width;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(width, threads); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const std::int64_t column = block.index() * threads + block.thread();
    if (column >= width) return;
    for (std::int64_t i = 0; i < count; ++i) {
      if (row[i] < 0 || row[i] >= held) continue;
      AddElement<To, From>{sum, x, 1}(row[i] * width + column, i * width + column);
    }
  }
};

}  // namespace troika::cuda
