#include "base/digits.h"

#include <fmt/format.h>

#include <cmath>

namespace troika::base {

std::string format_digits(double value, int digits) {
  const bool has_more = std::abs(value) >= std::pow(10, digits) - 0.5;
  return has_more ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, digits);
}

}  // namespace troika::base
