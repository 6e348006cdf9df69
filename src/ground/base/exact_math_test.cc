#include "base/exact_math.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "base/error.h"

namespace troika::base {
namespace {

// Doubles of a fixed sequence in [low, high), spread over the exponents where `by_exponent`.
class Numbers {
 public:
  double uniform(double low, double high) { return low + (high - low) * next(); }
  double spread(double low_exponent, double high_exponent) {
    return std::ldexp(1 + next(), static_cast<int>(uniform(low_exponent, high_exponent)));
  }

 private:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  std::uint64_t state_ = 1;
};

double units_off(double got, long double want) {
  const double nearest = static_cast<double>(want);
  const double unit = std::nextafter(std::abs(nearest), std::numeric_limits<double>::infinity()) - std::abs(nearest);
  return static_cast<double>(std::abs((static_cast<long double>(got) - want) / static_cast<long double>(unit)));
}

struct Function {
  const char* name;
  std::function<double(double)> ours;
  std::function<long double(long double)> theirs;
  std::function<double(Numbers&)> draw;
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"exp", exp, [](long double x) { return std::exp(x); }, [](Numbers& n) { return n.uniform(-700, 700); }},
      {"exp of small numbers", exp, [](long double x) { return std::exp(x); }, [](Numbers& n) { return n.spread(-60, -1); }},
      {"log", log, [](long double x) { return std::log(x); }, [](Numbers& n) { return n.spread(-1000, 1000); }},
      {"log near 1", log, [](long double x) { return std::log(x); }, [](Numbers& n) { return 1 + n.uniform(-0.3, 0.4); }},
      {"log1p", log1p, [](long double x) { return std::log1p(x); }, [](Numbers& n) { return n.spread(-58, 60); }},
      {"log1p of negative numbers", log1p, [](long double x) { return std::log1p(x); }, [](Numbers& n) { return n.uniform(-1, 0); }},
      {"pow", [](double x) { return pow(10000, x); }, [](long double x) { return std::pow(10000.0L, x); },
       [](Numbers& n) { return n.uniform(-1, 1); }},
      {"pow of steps", [](double x) { return pow(0.999, std::floor(x)); },
       [](long double x) { return std::pow(static_cast<long double>(0.999), std::floor(x)); }, [](Numbers& n) { return n.uniform(1, 1e5); }},
      {"sin", sin, [](long double x) { return std::sin(x); }, [](Numbers& n) { return n.uniform(-200000, 200000); }},
      {"sin of small numbers", sin, [](long double x) { return std::sin(x); }, [](Numbers& n) { return n.spread(-30, 1); }},
      {"cos", cos, [](long double x) { return std::cos(x); }, [](Numbers& n) { return n.uniform(-200000, 200000); }},
      {"cos of large numbers", cos, [](long double x) { return std::cos(x); }, [](Numbers& n) { return n.spread(20, 29); }},
  };
  return all;
}

TEST(ExactMath, IsWithinHalfAUnitAndAThousandth) {
  static_assert(LDBL_MANT_DIG >= 64, "the functions are compared with wider numbers");
  for (const Function& function : functions()) {
    Numbers numbers;
    double worst = 0;
    for (int i = 0; i < 200000; ++i) {
      const double x = function.draw(numbers);
      worst = std::max(worst, units_off(function.ours(x), function.theirs(static_cast<long double>(x))));
    }
    EXPECT_LE(worst, 0.501) << function.name;
  }
}

TEST(ExactMath, HasTheseBitsOnEveryProcessor) {
  std::uint64_t sum = 0;
  for (const Function& function : functions()) {
    Numbers numbers;
    for (int i = 0; i < 20000; ++i) {
      const double value = function.ours(function.draw(numbers));
      std::uint64_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      sum = sum * 6364136223846793005u + bits;
    }
  }
  EXPECT_EQ(sum, 11159939807178324952u);
}

TEST(ExactMath, Log2OfFloatsIsTheNearestFloatOrNearlySo) {
  Numbers numbers;
  std::uint64_t sum = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto x = static_cast<float>(i % 2 == 0 ? numbers.spread(-140, 120) : 1 + numbers.uniform(-0.3, 0.4));
    const float got = log2(x);
    const double want = std::log2(static_cast<double>(x)), nearest = std::abs(static_cast<float>(want));
    const double unit = std::nextafter(static_cast<float>(nearest), 1e38f) - static_cast<float>(nearest);
    EXPECT_LE(std::abs(got - want), 0.501 * unit) << x;
    std::uint32_t bits;
    std::memcpy(&bits, &got, sizeof(bits));
    sum = sum * 6364136223846793005u + bits;
  }
  EXPECT_EQ(sum, 10871033700978861960u);
  EXPECT_EQ(log2(8.0f), 3.0f);
  EXPECT_EQ(log2(0.0f), -std::numeric_limits<float>::infinity());
}

TEST(ExactMath, EndsAreThoseOfTheFunctions) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(exp(0), 1);
  EXPECT_EQ(exp(infinity), infinity);
  EXPECT_EQ(exp(-infinity), 0);
  EXPECT_EQ(exp(1000), infinity);
  EXPECT_GT(exp(-745.1), 0);
  EXPECT_TRUE(std::isnan(exp(std::nan(""))));
  EXPECT_EQ(log(1), 0);
  EXPECT_EQ(log(0), -infinity);
  EXPECT_EQ(log(infinity), infinity);
  EXPECT_TRUE(std::isnan(log(-1)));
  EXPECT_EQ(log(std::numeric_limits<double>::denorm_min()), std::log(std::numeric_limits<double>::denorm_min()));
  EXPECT_EQ(log1p(-1), -infinity);
  EXPECT_EQ(log1p(1e-300), 1e-300);
  EXPECT_EQ(pow(2, 10), 1024);
  EXPECT_EQ(pow(0.9, 1), 0.9);
  EXPECT_EQ(pow(-3, 0), 1);
  EXPECT_EQ(pow(0, 2), 0);
  EXPECT_THROW(pow(-1, 0.5), BugError);
  EXPECT_EQ(sin(0), 0);
  EXPECT_EQ(cos(0), 1);
  EXPECT_THROW(sin(0x1p31), BugError);
}

}  // namespace
}  // namespace troika::base
