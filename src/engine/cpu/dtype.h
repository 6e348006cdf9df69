// What the arrays of a call hold: fp32, or bf16, which is read, computed with in fp32, and rounded once when it is written, to
// nearest, ties to even; products (gemm.h, attention.h) may multiply it as it is. Arrays of either are passed as void.
#pragma once

#include <cstdint>

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

}  // namespace troika::cpu
