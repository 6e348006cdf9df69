// Asks for memory that is needed soon, so that it comes while something else is computed. Worth it where the hardware
// prefetcher fails: strided rows, and results, which are read from memory before they are first written. Any address is
// allowed, because nothing is accessed.
#pragma once

#include <cstdint>

#include "cpu/dtype.h"

namespace troika::cpu {

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
