// The arrays of a call, views of heads in them, and requests for their memory.
//
// They hold fp32, or bf16, which is read, computed with in fp32, and rounded once when it is written, to
// nearest, ties to even; products may multiply it as it is (gemm.h, attention.h). Arrays of either are passed as void.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/dtype.h"

namespace troika::cpu {

using base::Bf16;
using base::Dtype;  // fp32 or bf16
using base::to_float;

// Element `index` of an array.
inline const void* at(const void* array, std::int64_t index, Dtype dtype) {
  return static_cast<const char*>(array) + index * base::bytes_of(dtype);
}
inline void* at(void* array, std::int64_t index, Dtype dtype) {
  return static_cast<char*>(array) + index * base::bytes_of(dtype);
}

// Views of heads: element (b, t, head, h) is the one at first(b, t, head) + h of `data`.
template <class Array>  // void or const void
struct HeadView {
  Array* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;  // elements
  Dtype dtype = Dtype::fp32;
  std::int64_t first(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return b * batch_stride + t * row_stride + head * head_stride;
  }
};
using Heads = HeadView<const void>;
using MutableHeads = HeadView<void>;

// Heads of floats, which are heads too.
template <class Float>  // float or const float
struct FloatHeadView {
  using View = HeadView<std::conditional_t<std::is_const_v<Float>, const void, void>>;
  Float* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
  operator View() const { return {data, batch_stride, row_stride, head_stride, Dtype::fp32}; }
  Float* at(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return data + b * batch_stride + t * row_stride + head * head_stride;
  }
};
using FloatHeads = FloatHeadView<const float>;
using MutableFloatHeads = FloatHeadView<float>;

// Kernels work on whole groups of 16 floats.
inline std::int64_t padded_width(std::int64_t width) { return (width + 15) / 16 * 16; }

// Asks for memory that is needed soon, so that it comes while something else is computed. Worth it where the hardware
// prefetcher fails: strided rows, and results, which are read from memory before they are first written. Any address is
// allowed, because nothing is accessed.

// How many rows before its turn a row is asked for.
inline constexpr std::int64_t rows_ahead = 2;

enum class PrefetchTo { read, write };

// Without the empty assembly g++ takes functions that only prefetch for such without effect, and drops calls of them.
template <PrefetchTo to>
inline void prefetch_bytes(const void* data, std::int64_t count) {
  constexpr std::int64_t line = 64;
  const char* const begin = static_cast<const char*>(data);
  for (std::int64_t i = 0; i < count; i += line) {
    __builtin_prefetch(begin + i, to == PrefetchTo::write ? 1 : 0);
    asm volatile("");
  }
}

// Elements [first, first + count) of an array.
template <PrefetchTo to>
inline void prefetch(const void* array, std::int64_t first, std::int64_t count, Dtype dtype) {
  prefetch_bytes<to>(at(array, first, dtype), count * base::bytes_of(dtype));
}

}  // namespace troika::cpu
