#include "base/statistics.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace troika::base {

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
