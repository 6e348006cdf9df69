#include "base/box_muller.h"

#include <cmath>
#include <cstddef>
#include <cstring>

namespace troika::base {
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
