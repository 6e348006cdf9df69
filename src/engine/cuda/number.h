// The numbers that kernels read and write. Halves are storage: kernels compute in fp32.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "cuda/block.h"

namespace troika::cuda {

using base::Dtype;  // what activations and weights are stored in: fp32, bf16 or fp16

// A matrix with M contiguous rows of width D.
struct Rows {
  Dtype dtype = Dtype::fp32;
  std::int64_t M = 0, D = 0;
};

struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {
  std::uint16_t bits;
};

TROIKA_HOST_DEVICE std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
TROIKA_HOST_DEVICE float float_of(std::uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

TROIKA_HOST_DEVICE float to_float(float x) { return x; }
TROIKA_HOST_DEVICE float to_float(Bf16 x) { return float_of(static_cast<std::uint32_t>(x.bits) << 16); }
TROIKA_HOST_DEVICE float to_float(Fp16 x) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
#else
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16;
  const std::uint32_t exponent = x.bits >> 10 & 31, fraction = x.bits & 1023;
  if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
  if (exponent > 0) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
  return float_of(sign | bits_of(static_cast<float>(fraction) * 5.9604644775390625e-8f));  // 2^-24
#endif
}

// To nearest, ties to even. NaN stays NaN; its bits are the machine's.
template <class T>
TROIKA_HOST_DEVICE T rounded(float x);
template <>
TROIKA_HOST_DEVICE float rounded<float>(float x) {
  return x;
}
template <>
TROIKA_HOST_DEVICE Bf16 rounded<Bf16>(float x) {
#ifdef __CUDA_ARCH__
  Bf16 half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
  return half;
#else
  const std::uint32_t bits = bits_of(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
#endif
}
template <>
TROIKA_HOST_DEVICE Fp16 rounded<Fp16>(float x) {
#ifdef __CUDA_ARCH__
  Fp16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
  return half;
#else
  const std::uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return {static_cast<std::uint16_t>(sign | 0x7e00)};
  if (magnitude >= 0x477ff000) return {static_cast<std::uint16_t>(sign | 0x7c00)};  // 65520 and above
  // Adding a power of two whose last bit is that of the half rounds: 2^-24 below the smallest normal half.
  const std::uint32_t exponent = magnitude < 0x38800000 ? 113 : magnitude >> 23;
  const float shift = float_of((exponent + 13) << 23);
  const std::uint32_t units = bits_of(float_of(magnitude) + shift) - bits_of(shift);  // of the half's last bit
  return {static_cast<std::uint16_t>(sign | ((magnitude < 0x38800000 ? 0 : (exponent - 113) << 10) + units))};
#endif
}

// The elements a thread loads and stores at once, at most 16 bytes.
template <class T, int n>
struct alignas(sizeof(T) * n) Vector {
  T at[n];
};

// n neighbouring elements as they are stored. n is a power of two.
template <class T, int n>
struct Pack {
  static constexpr int most = static_cast<int>(16 / sizeof(T)), width = n < most ? n : most;
  Vector<T, width> part[n / width];

  TROIKA_DEVICE float operator[](int i) const { return to_float(part[i / width].at[i % width]); }
  TROIKA_DEVICE void set(int i, float x) { part[i / width].at[i % width] = rounded<T>(x); }
};

// `x` is aligned to the bytes of all n, or to 16.
template <int n, class T>
TROIKA_DEVICE Pack<T, n> loaded(const T* x) {
  using Packed = Pack<T, n>;
  Packed pack;
  TROIKA_UNROLL
  for (int i = 0; i < n / Packed::width; ++i)
    pack.part[i] = *reinterpret_cast<const Vector<T, Packed::width>*>(x + i * Packed::width);
  return pack;
}
template <int n, class T>
TROIKA_DEVICE void store(T* x, const Pack<T, n>& pack) {
  using Packed = Pack<T, n>;
  TROIKA_UNROLL
  for (int i = 0; i < n / Packed::width; ++i)
    *reinterpret_cast<Vector<T, Packed::width>*>(x + i * Packed::width) = pack.part[i];
}
template <int n, class T>
TROIKA_DEVICE void store(T* x, const float (&values)[n]) {
  Pack<T, n> pack;
  TROIKA_UNROLL
  for (int i = 0; i < n; ++i) pack.set(i, values[i]);
  store<n>(x, pack);
}

}  // namespace troika::cuda
