#include "base/exact_math.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace troika::base {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// The unevaluated sum of two doubles, the second at most half a unit in the last place of the first. Algorithms of Dekker and Knuth.
struct Pair {
  double high = 0, low = 0;
};

Pair sum_of_larger(double a, double b) {  // |a| >= |b|
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
Pair sum(double a, double b) {
  const double total = a + b, of_b = total - a;
  return {total, (a - (total - of_b)) + (b - of_b)};
}
Pair product(double a, double b) {
  const double high = a * b;
  return {high, std::fma(a, b, -high)};
}
Pair operator+(const Pair& a, const Pair& b) {
  const Pair high = sum(a.high, b.high), low = sum(a.low, b.low);
  const Pair first = sum_of_larger(high.high, high.low + low.high);
  return sum_of_larger(first.high, first.low + low.low);
}
Pair operator+(const Pair& a, double b) {
  const Pair high = sum(a.high, b);
  return sum_of_larger(high.high, high.low + a.low);
}
Pair operator*(const Pair& a, const Pair& b) {
  const Pair high = product(a.high, b.high);
  return sum_of_larger(high.high, high.low + (a.high * b.low + a.low * b.high));
}
Pair operator*(const Pair& a, double b) {
  const Pair high = product(a.high, b);
  return sum_of_larger(high.high, std::fma(a.low, b, high.low));
}
Pair operator/(const Pair& a, const Pair& b) {
  const double first = a.high / b.high;
  const Pair rest = a + b * -first;
  const double second = rest.high / b.high;
  return sum(first, second) + (rest + b * -second).high / b.high;
}

constexpr Pair ln2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr Pair third{0x1.5555555555555p-2, 0x1.5555555555555p-56}, fifth{0x1.999999999999ap-3, -0x1.999999999999ap-57};
constexpr Pair seventh{0x1.2492492492492p-3, 0x1.2492492492492p-57}, ninth{0x1.c71c71c71c71cp-4, 0x1.c71c71c71c71cp-58};
constexpr Pair over_3_factorial{0x1.5555555555555p-3, 0x1.5555555555555p-57};
constexpr Pair over_4_factorial{0x1.5555555555555p-5, 0x1.5555555555555p-59};
constexpr Pair over_5_factorial{0x1.1111111111111p-7, 0x1.1111111111111p-63};
constexpr Pair over_6_factorial{0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65};
constexpr Pair over_7_factorial{0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73};
constexpr Pair over_8_factorial{0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76};

// coefficients[0] + x (coefficients[1] + ...), where one double suffices.
template <std::size_t n>
double horner(const double (&coefficients)[n], double x) {
  double value = coefficients[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) value = coefficients[i] + x * value;
  return value;
}

// e^x by e^(r / 16) with x = k ln 2 + r: the Taylor series of e^y - 1, then four squares.
double exp_of(const Pair& x) {
  if (x.high > 709.8) return infinity;
  if (x.high < -745.2) return 0;
  const double k = std::nearbyint(x.high * 0x1.71547652b82fep+0);
  const Pair y = (x + ln2 * -k) * 0.0625;
  constexpr double tail[] = {1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
  Pair e = over_4_factorial + y * horner(tail, y.high);
  e = over_3_factorial + y * e;
  e = Pair{0.5, 0} + y * e;
  e = y + y * y * e;
  for (int i = 0; i < 4; ++i) e = e * 2.0 + e * e;
  return std::ldexp((e + 1.0).high, static_cast<int>(k));
}

// log(m) + k ln 2 with m = 1 + d between sqrt(1/2) and sqrt(2), by the series of 2 artanh(d / (2 + d)).
Pair log_of(const Pair& d, int k) {
  const Pair s = d / (d + 2.0), square = s * s;
  constexpr double tail[] = {1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25};
  Pair series = ninth + square * horner(tail, square.high);
  series = seventh + square * series;
  series = fifth + square * series;
  series = third + square * series;
  const Pair of_m = (s + s * square * series) * 2.0;
  return k == 0 ? of_m : ln2 * k + of_m;
}

// x = m 2^k with m between sqrt(1/2) and sqrt(2), of a finite x > 0.
struct Scaled {
  double m;
  int k;
};
Scaled scaled_of(double x) {
  int k = 0;
  const double m = std::frexp(x, &k);
  return m < 0x1.6a09e667f3bcdp-1 ? Scaled{2 * m, k - 1} : Scaled{m, k};
}

Pair log_pair(double x) {
  const Scaled scaled = scaled_of(x);
  return log_of({scaled.m - 1, 0}, scaled.k);
}

struct Turned {
  Pair r;            // within an eighth of a turn
  int quarters = 0;  // of a turn before it, 0 to 3
};

// |x| = k pi / 2 + r. Each product is exact but the last; pi / 2 in three doubles leaves an error of 2^-130.
Turned turn_back(double x) {
  if (!(std::abs(x) < 0x1p30)) throw BugError(fmt::format("the sine or cosine of {}", x));
  const double k = std::nearbyint(x * 0x1.45f306dc9c883p-1);
  const Pair first = product(k, -0x1.921fb54442d18p+0), second = product(k, -0x1.1a62633145c07p-54);
  const Pair r = sum(x, first.high) + Pair{first.low, 0} + second + k * 0x1.f1976b7ed8fbcp-110;
  return {r, static_cast<int>(static_cast<long long>(k) & 3)};
}

Pair sine_series(const Pair& r) {
  const Pair square = r * r;
  constexpr double tail[] = {1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
  Pair series = Pair{-over_7_factorial.high, -over_7_factorial.low} + square * horner(tail, square.high);
  series = over_5_factorial + square * series;
  series = Pair{-over_3_factorial.high, -over_3_factorial.low} + square * series;
  return r + r * square * series;
}

Pair cosine_series(const Pair& r) {
  const Pair square = r * r;
  constexpr double tail[] = {-1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
  Pair series = over_8_factorial + square * horner(tail, square.high);
  series = Pair{-over_6_factorial.high, -over_6_factorial.low} + square * series;
  series = over_4_factorial + square * series;
  series = Pair{-0.5, 0} + square * series;
  return square * series + 1.0;
}

// The sine of what has been turned back, plus `quarters` quarters of a turn.
double sine_of(const Turned& turned, int quarters) {
  const int quarter = (turned.quarters + quarters) & 3;
  const double value = (quarter & 1) == 0 ? sine_series(turned.r).high : cosine_series(turned.r).high;
  return quarter < 2 ? value : -value;
}

}  // namespace

double exp(double x) { return std::isnan(x) ? x : exp_of({x, 0}); }

double log(double x) {
  if (std::isnan(x) || x == infinity) return x;
  if (x <= 0) return x < 0 ? not_a_number : -infinity;
  return log_pair(x).high;
}

double log1p(double x) {
  if (std::isnan(x) || x == infinity) return x;
  if (x <= -1) return x < -1 ? not_a_number : -infinity;
  if (std::abs(x) < 0x1p-60) return x;
  if (x > -0.29 && x < 0.41) return log_of({x, 0}, 0).high;
  const Pair whole = sum(1, x);
  const Scaled scaled = scaled_of(whole.high);
  return log_of(Pair{scaled.m - 1, 0} + std::ldexp(whole.low, -scaled.k), scaled.k).high;
}

float log2(float x) {
  if (!(x > 0 && x < infinity)) return static_cast<float>(log(x));
  const auto [m, k] = scaled_of(static_cast<double>(x));
  constexpr double series[] = {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17};
  const double s = (m - 1) / (m + 1);
  return static_cast<float>(k + s * horner(series, s * s) * 0x1.71547652b82fep+0);
}

double pow(double base, double exponent) {
  if (exponent == 0) return 1;
  if (base == 0 && exponent > 0) return 0;
  if (!(base > 0 && base < infinity)) throw BugError(fmt::format("{} to the power of {}", base, exponent));
  return exp_of(log_pair(base) * exponent);
}

double sin(double x) { return x == 0 ? x : sine_of(turn_back(x), 0); }

double cos(double x) { return sine_of(turn_back(x), 1); }

}  // namespace troika::base
