// DIR/summary.csv. Format: docs/formats/sweep.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/row.h"

namespace troika::sweep {

std::string to_csv(const SweepRows& rows);

// A value of a row as it stands there; "" where nothing was measured.
struct SweepCell {
  std::string_view column;
  std::string text;
  bool is_number = false;
};
std::vector<SweepCell> cells_of(const SweepRow& row);

// DataError that names `origin` and the line for what to_csv does not write: other columns in front, a row that is cut off, a
// value of another kind. Columns that are not known are passed over.
SweepRows parse_csv(const std::string& text, const std::string& origin);

}  // namespace troika::sweep
