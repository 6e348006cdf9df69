#include "base/random.h"

#include <xxhash.h>

#include "base/box_muller.h"
#include "base/error.h"

namespace troika::base {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> x, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * x[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * x[2];
    const std::uint32_t y0 = static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ key[0];
    const std::uint32_t y2 = static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ key[1];
    x[1] = static_cast<std::uint32_t>(p1);
    x[3] = static_cast<std::uint32_t>(p0);
    x[0] = y0;
    x[2] = y2;
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return x;
}

Philox::Philox(std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = XXH3_64bits_withSeed(name.data(), name.size(), seed);
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

std::array<std::uint32_t, 4> Philox::block(std::uint64_t counter) const {
  return philox4x32({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}, key_);
}

std::uint64_t Philox::bits(std::uint64_t index) const {
  const auto words = block(index);
  return std::uint64_t{words[1]} << 32 | words[0];
}

double Philox::uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }

void Philox::fill_normal(std::uint64_t first, std::int64_t count, float* out) const {
  const std::uint64_t end = first + static_cast<std::uint64_t>(count);
  for (std::uint64_t i = first; i < end;) {
    const auto words = block(i / 2);
    const NormalPair pair =
        box_muller(std::uint64_t{words[1]} << 32 | words[0], std::uint64_t{words[3]} << 32 | words[2]);
    if (i % 2 == 0) out[i++ - first] = pair.cosine;
    if (i < end) out[i++ - first] = pair.sine;
  }
}

std::uint64_t permute(std::uint64_t index, std::uint64_t size, std::uint64_t seed) {
  if (index >= size) throw BugError("permute: index is not below size");
  int half_bits = 1;
  while (half_bits < 32 && (std::uint64_t{1} << (2 * half_bits)) < size) ++half_bits;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  const Philox random(seed, "permute");
  do {
    std::uint64_t left = index >> half_bits, right = index & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t mixed = left ^ (random.block(round << 32 | right)[0] & mask);
      left = right;
      right = mixed;
    }
    index = left << half_bits | right;
  } while (index >= size);
  return index;
}

}  // namespace troika::base
