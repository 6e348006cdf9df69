#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace troika::base {

std::string format_bytes(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (value >= 1023.95 && unit < 4) {  // what one decimal would print as 1024.0
    value /= 1024;
    ++unit;
  }
  return value < 9.995 ? fmt::format("{:.2f} {}", value, units[unit]) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string format_count(std::int64_t count) {
  const double value = static_cast<double>(count);
  if (count < 10000) return fmt::format("{}", count);
  if (value < 999.95e3) return fmt::format("{:.1f} K", value / 1e3);
  if (value < 999.95e6) return fmt::format("{:.1f} M", value / 1e6);
  return fmt::format("{:.2f} B", value / 1e9);
}

std::string format_duration(double seconds) {
  if (seconds < 0.99995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

// Splits "1.5MiB" into its number and its unit, lower case.
static bool split_unit(std::string_view text, double* number, std::string* unit) {
  std::size_t end = 0;
  while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.')) ++end;
  if (!parse_double(text.substr(0, end), number)) return false;
  *unit = lower_case(trim(text.substr(end)));
  return true;
}

bool parse_bytes(std::string_view text, std::int64_t* bytes) {
  double number = 0;
  std::string unit;
  if (!split_unit(text, &number, &unit)) return false;
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    const std::size_t power = std::string("kmgt").find(unit[0]);
    const std::string rest = unit.substr(1);
    if (power == std::string::npos || (!rest.empty() && rest != "b" && rest != "ib")) return false;
    factor = std::pow(rest == "ib" ? 1024.0 : 1000.0, static_cast<double>(power + 1));
  }
  if (number * factor > 9e18) return false;
  *bytes = std::llround(number * factor);
  return true;
}

bool parse_duration(std::string_view text, double* seconds) {
  double number = 0;
  std::string unit;
  if (!split_unit(text, &number, &unit)) return false;
  const double factor = unit.empty() || unit == "s"    ? 1
                        : unit == "ms"                 ? 1e-3
                        : unit == "m" || unit == "min" ? 60
                        : unit == "h"                  ? 3600
                                                       : 0;
  if (factor == 0) return false;
  *seconds = number * factor;
  return true;
}

std::string format_digits(double value, int digits) {
  const bool has_more = std::abs(value) >= std::pow(10, digits) - 0.5;
  return has_more ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, digits);
}

double median(std::vector<double> values) {
  if (values.empty()) throw BugError("the median of no values was asked");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double median_or(std::vector<double> values, double of_none) {
  return values.empty() ? of_none : median(std::move(values));
}

}  // namespace troika::base
