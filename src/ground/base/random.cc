#include "base/random.h"

#include <xxhash.h>

#include <cmath>
#include <cstddef>
#include <cstring>

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

namespace {

namespace numbers = box_muller_numbers;

std::uint64_t bits_of(double x) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

double of_bits(std::uint64_t bits) {
  double x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <std::size_t size>
double polynomial(const double (&coefficients)[size], double x) {
  double sum = coefficients[size - 1];
  for (std::size_t i = size - 1; i > 0; --i) sum = sum * x + coefficients[i - 1];
  return sum;
}

// -2 log(k / 2^53) for k in [1, 2^53].
double minus_two_log(double k) {
  const std::uint64_t bits = bits_of(k);
  const std::uint64_t exponent = (bits + (0x3ff0000000000000 - numbers::root_of_half_bits)) >> 52;
  const double m = of_bits(bits - ((exponent - 1023) << 52));
  const double e = of_bits(exponent | numbers::two_to_52_bits) - (numbers::two_to_52 + 1023 + 53);
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  return e * numbers::minus_two_log_2 + s * (-4.0 + z * polynomial(numbers::log_poly, z));
}

}  // namespace

NormalPair box_muller(std::uint64_t a, std::uint64_t b) {
  const double radius = std::sqrt(minus_two_log(static_cast<double>((a >> 11) + 1)));
  const double quarters = static_cast<double>(b >> 11) * 0x1p-51;
  const double shifted = quarters + numbers::nearest_integer;
  const std::uint64_t quarter = bits_of(shifted);
  const double r = quarters - (shifted - numbers::nearest_integer), w = r * r;
  const double sine = r * polynomial(numbers::sine_poly, w), cosine = 1.0 + w * polynomial(numbers::cosine_poly, w);
  const bool odd = quarter % 2 == 1;
  const double x = radius * of_bits(bits_of(odd ? sine : cosine) ^ ((quarter + 1) & 2) << 62);
  const double y = radius * of_bits(bits_of(odd ? cosine : sine) ^ (quarter & 2) << 62);
  return {static_cast<float>(x), static_cast<float>(y)};
}

}  // namespace troika::base
