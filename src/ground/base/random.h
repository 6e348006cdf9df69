// Counter-based random numbers: value i of a stream is a pure function of (key, i), so any rank can draw any element.
// Philox4x32-10, J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace troika::base {

// The bijection itself: ten rounds over a 128-bit counter with a 64-bit key, low words first.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// A stream of 128-bit blocks. Threads: const, safe.
class Philox {
 public:
  // A stream per (seed, name): the same on every rank, layout and machine.
  Philox(std::uint64_t seed, std::string_view name);

  std::array<std::uint32_t, 4> block(std::uint64_t counter) const;
  std::array<std::uint32_t, 2> key() const { return key_; }

  std::uint64_t bits(std::uint64_t index) const;  // 64 uniform bits
  double uniform(std::uint64_t index) const;      // [0, 1), 53 bits
  // Fills out[i] with standard normal number first + i; numbers 2k and 2k + 1 are block k's box_muller pair.
  // cpu::random_normal gives the same numbers in less time.
  void fill_normal(std::uint64_t first, std::int64_t count, float* out) const;

 private:
  std::array<std::uint32_t, 2> key_;
};

// A random permutation of [0, size) evaluated at one index, in O(1) memory (Feistel network with cycle walking).
std::uint64_t permute(std::uint64_t index, std::uint64_t size, std::uint64_t seed);

// Two standard normal numbers from two 64-bit words: G. Box, M. Muller, "A note on the generation of random normal
// deviates", 1958. In double, with IEEE operations that round once each and no fused ones, in a fixed order: the bits
// are the same on every machine, and the vector form (cpu/flat.h) repeats the operations one by one.
//
// With u = (a's upper 53 bits + 1) / 2^53 in (0, 1] and v = b's upper 53 bits / 2^53 in [0, 1):
//   sqrt(-2 log u) * {cos, sin}(2 pi v), with a relative error below 1e-15 before the one rounding to float.
//
// log: u = 2^e m with m in [sqrt(1/2), sqrt(2)), s = (m - 1) / (m + 1), log m = 2 artanh s, a polynomial in s^2.
// Angles: v is a whole number of quarter turns and a rest in [-1/2, 1/2] of one; both parts are exact.
// The polynomials interpolate at the Chebyshev points of their interval.
struct NormalPair {
  float cosine = 0, sine = 0;
};
NormalPair box_muller(std::uint64_t a, std::uint64_t b);

namespace box_muller_numbers {

inline constexpr double two_to_52 = 0x1p52;
inline constexpr std::uint64_t two_to_52_bits = 0x4330000000000000;     // plus k < 2^52: the bits of 2^52 + k
inline constexpr std::uint64_t root_of_half_bits = 0x3fe6a09e667f3bcd;  // of sqrt(1/2)
inline constexpr double nearest_integer = 0x1.8p52;  // x + it - it rounds x; the sum's last bits are the integer's
inline constexpr double minus_two_log_2 = -1.3862943611198906;

// -2 log m = s * (-4 + s^2 * log_poly(s^2)); lowest power first, as below.
inline constexpr double log_poly[] = {-1.3333333333333339,  -0.7999999999979901, -0.57142857251951029,
                                      -0.44444422269581091, -0.363657782511842,  -0.30663443179148614,
                                      -0.29232899641564952};
// With r in quarter turns: sin = r * sine_poly(r^2), cos = 1 + r^2 * cosine_poly(r^2).
inline constexpr double sine_poly[] = {1.5707963267948966,     -0.64596409750624428,   0.079692626246043008,
                                       -0.0046817541323409756, 0.00016044115074219091, -3.5986433529823099e-06,
                                       5.6339337815378543e-08};
inline constexpr double cosine_poly[] = {-1.2337005501361691,    0.25366950790083043,     -0.02086348075319688,
                                         0.00091926010144262489, -2.5200703761965414e-05, 4.6632053886903437e-07};

}  // namespace box_muller_numbers
}  // namespace troika::base
