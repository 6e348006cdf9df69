// What the arrays of a call hold: fp32, or bf16, which is read, computed with in fp32, and rounded once when it is written, to
// nearest, ties to even; products (gemm.h, attention.h) may multiply it as it is. Arrays of either are passed as void.
#pragma once

#include <cstdint>
#include <cstring>

namespace troika::cpu {

enum class Dtype { fp32, bf16 };

struct Bf16 {
  std::uint16_t bits;
};

inline std::int64_t element_bytes(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }

inline float to_float(float x) { return x; }
inline float to_float(Bf16 x) {
  const std::uint32_t bits = std::uint32_t{x.bits} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Element `index` of an array.
inline const void* at(const void* array, std::int64_t index, Dtype dtype) {
  return static_cast<const char*>(array) + index * element_bytes(dtype);
}
inline void* at(void* array, std::int64_t index, Dtype dtype) {
  return static_cast<char*>(array) + index * element_bytes(dtype);
}

}  // namespace troika::cpu
