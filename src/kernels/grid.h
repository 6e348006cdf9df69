// Sums of gradients that do not depend on order: each gradient becomes an integer on a grid that is the same for all,
// q = g * 2^shift, to nearest, ties to even, and integers add without rounding. Flat tensors of any device; x is fp32, sum
// int64. Integers of magnitudes up to 2^62 fit; what is larger, or no number, leaves some value, and the largest magnitude
// tells. Shifts from -90 to 125.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace troika::kernels {

// The bits of the largest magnitude among floats (without sign, as an integer): they are ordered as the numbers are, and
// those of infinity and NaN stand above all.
using MagnitudeBits = std::uint32_t;
inline constexpr MagnitudeBits infinity_bits = 0x7f800000;

// The least e for which the magnitude is below 2^e; -126 where it could be less. `bits` below infinity's.
constexpr int exponent_above(MagnitudeBits bits) { return static_cast<int>(bits >> 23) - 126; }

// x becomes the nearest multiple of 2^-shift, which fp32 holds exactly. Returns the largest magnitude before.
MagnitudeBits round_to_grid(const at::Tensor& x, int shift);

enum class Into { fresh, sum };  // fresh: sum is uninitialised and becomes q
MagnitudeBits add_on_grid(const at::Tensor& sum, const at::Tensor& x, int shift, Into into);

// x = sum * 2^-shift: to double, then to fp32.
void from_integers(const at::Tensor& sum, int shift, const at::Tensor& x);
// chunk_squares (flat.h) of that.
std::vector<double> integer_chunk_squares(const at::Tensor& sum, int shift, std::int64_t chunk);

}  // namespace troika::kernels
