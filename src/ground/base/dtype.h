// The element types of tensors, of the arrays that kernels read, and of files.
#pragma once

#include <cstdint>
#include <cstring>

namespace troika::base {

enum class Dtype : std::uint8_t { fp32, bf16, fp16, fp64, int64, int32, uint8 };
inline constexpr int dtype_count = 7;

constexpr std::int64_t bytes_of(Dtype dtype) {
  constexpr std::int64_t bytes[dtype_count] = {4, 2, 2, 8, 8, 4, 1};
  return bytes[static_cast<int>(dtype)];
}

// "fp32", "bf16", "fp16", "fp64", "int64", "int32", "uint8".
constexpr const char* name_of(Dtype dtype) {
  constexpr const char* names[dtype_count] = {"fp32", "bf16", "fp16", "fp64", "int64", "int32", "uint8"};
  return names[static_cast<int>(dtype)];
}

// Storage of two bytes: arithmetic reads it into fp32 and writes it back rounded to nearest, ties to even.
struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {  // IEEE 754 binary16
  std::uint16_t bits;
};

template <class T>
struct DtypeOf;
template <>
struct DtypeOf<float> {
  static constexpr Dtype value = Dtype::fp32;
};
template <>
struct DtypeOf<Bf16> {
  static constexpr Dtype value = Dtype::bf16;
};
template <>
struct DtypeOf<Fp16> {
  static constexpr Dtype value = Dtype::fp16;
};
template <>
struct DtypeOf<double> {
  static constexpr Dtype value = Dtype::fp64;
};
template <>
struct DtypeOf<std::int64_t> {
  static constexpr Dtype value = Dtype::int64;
};
template <>
struct DtypeOf<std::int32_t> {
  static constexpr Dtype value = Dtype::int32;
};
template <>
struct DtypeOf<std::uint8_t> {
  static constexpr Dtype value = Dtype::uint8;
};
template <class T>
inline constexpr Dtype dtype_of = DtypeOf<T>::value;

// visit(T{}) with the C++ type of the elements.
template <class Visit>
decltype(auto) with_type(Dtype dtype, Visit&& visit) {
  switch (dtype) {
    case Dtype::fp32: return visit(float{});
    case Dtype::bf16: return visit(Bf16{});
    case Dtype::fp16: return visit(Fp16{});
    case Dtype::fp64: return visit(double{});
    case Dtype::int64: return visit(std::int64_t{});
    case Dtype::int32: return visit(std::int32_t{});
    case Dtype::uint8: break;
  }
  return visit(std::uint8_t{});
}

// Values of halves in fp32 and back; not-a-number stays one.
inline float to_float(float x) { return x; }
inline float to_float(Bf16 x) {
  const std::uint32_t bits = std::uint32_t{x.bits} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline Bf16 to_bf16(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000) return {0x7fc0};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

// The exponent of a half grows by 112 in fp32: a product with 2^112 moves it there, for numbers below the normal ones too.
inline float to_float(Fp16 x) {
  const std::uint32_t magnitude = std::uint32_t{x.bits} & 0x7fff, sign = (std::uint32_t{x.bits} & 0x8000) << 16;
  std::uint32_t bits = magnitude << 13;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  value *= 0x1p112f;
  std::memcpy(&bits, &value, sizeof(bits));
  bits |= magnitude >= 0x7c00 ? 0x7f800000 | magnitude << 13 : 0;
  bits |= sign;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
// By selections, as cpu/rounding.cc has it for arrays.
inline Fp16 to_fp16(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  float value;  // below the normal halves an addition rounds at their last place
  std::memcpy(&value, &magnitude, sizeof(value));
  value += 0.5f;
  std::uint32_t small;
  std::memcpy(&small, &value, sizeof(small));
  std::uint32_t half = (magnitude + 0xc8000fff + (magnitude >> 13 & 1)) >> 13;
  half = magnitude < 0x38800000 ? small - 0x3f000000 : half;
  half = magnitude >= 0x477ff000 ? 0x7c00 : half;  // 65520 and more round to infinity
  half = magnitude > 0x7f800000 ? 0x7e00 : half;
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace troika::base
