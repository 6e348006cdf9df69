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

}  // namespace troika::base
