// Figures of several values.
#pragma once

#include <vector>

namespace troika::base {

// The mean of the two in the middle where their number is even. BugError when there are none.
double median(std::vector<double> values);
double median_or(std::vector<double> values, double of_none);

}  // namespace troika::base
