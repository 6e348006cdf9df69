// Least squares with coefficients that are not negative.
#pragma once

#include <cstddef>
#include <vector>

namespace troika::probe {

// sum over j of terms[j] * x[j] shall be `value`; a row counts by the error in relation to its value, which is above 0.
struct Equation {
  std::vector<double> terms;
  double value = 0;
};

// The x >= 0 with the least sum of squared relative errors. Of every set of coefficients that are not 0 it looks at the best,
// so for a few unknowns only. BugError with more than 12, or when rows have different numbers of terms.
std::vector<double> non_negative_least_squares(const std::vector<Equation>& equations);

}  // namespace troika::probe
