// A series of a run in as many columns as a picture is wide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/columns.h"

namespace troika::serve {

struct CurveQuestion {
  Series series = Series::loss;
  Axis axis = Axis::step;
  std::optional<double> from, to;  // along the axis, both included; nothing: as far as there is something
  std::int64_t points = 1000;      // at most
};

// low, high and mean of the finite values in each column; NaN where there are none. x: of a column's last step.
struct Curve {
  bool exact = true;  // every column is one step
  std::vector<double> x;
  std::vector<float> low, high, mean;
};
// Columns of equal width, without those in which there is no step; where there are no more steps than points, a column for each.
Curve curve_of(const Columns& columns, const CurveQuestion& question);

// {"name", "exact", "x": [...], "low": [...], "high": [...], "mean": [...], "from", "to", "steps"}: the last three of the whole run.
std::string curve_json(const std::string& name, const Columns& columns, const CurveQuestion& question);

}  // namespace troika::serve
