// exp, log, pow, sin and cos whose bits depend neither on the C library nor on the processor: additions, products and fused
// products of doubles, each rounded as IEEE 754 says. Sums are kept in two doubles, so that results are within 0.501 units of
// the last place of the true value (exact_math_test.cc), nearly always the nearest double. What reaches numbers of a run calls these.
#pragma once

namespace troika::base {

double exp(double x);
double log(double x);    // of a negative number: not a number
double log1p(double x);  // log(1 + x)
// base > 0; any base to the power 0 is 1, and 0 to a power > 0 is 0. BugError for other bases.
double pow(double base, double exponent);
double sin(double x);  // of |x| < 2^30; BugError beyond
double cos(double x);

float log2(float x);  // by one double: within 0.501 units of the last place of a float

// Whether sums have one order, so that equal operands give equal bits.
enum class Repeatable { no, yes };

}  // namespace troika::base
