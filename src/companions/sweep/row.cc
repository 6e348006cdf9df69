#include "sweep/row.h"

#include <algorithm>

namespace troika::sweep {

SweepPredicted predicted_of(const planner::Estimate& estimate) {
  return {estimate.time.step, estimate.memory.at_once, estimate.memory.total()};
}

SweepRows best_first(SweepRows rows) {
  const auto speed = [](const SweepRow& row) { return row.measured ? row.measured->tokens_per_second : -1; };
  std::stable_sort(rows.begin(), rows.end(), [&](const SweepRow& a, const SweepRow& b) { return speed(a) > speed(b); });
  return rows;
}

const SweepRow* find_row(const SweepRows& rows, const planner::Layout& layout) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SweepRow& row) { return row.layout == layout; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace troika::sweep
