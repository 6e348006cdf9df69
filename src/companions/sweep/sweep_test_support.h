// Rows and estimates for tests of a sweep.
#pragma once

#include "sweep/row.h"

namespace troika::sweep {

inline planner::Layout layout_with(int dp, int pp, int zero = 0) {
  planner::Layout layout;
  layout.dp = dp;
  layout.pp = pp;
  layout.zero = zero;
  return layout;
}

inline SweepRow measured_row(const planner::Layout& layout, double tokens_per_second) {
  SweepMeasured measured;
  measured.tokens_per_second = tokens_per_second;
  measured.samples_per_second = tokens_per_second / 16;
  measured.step_seconds = 192 / tokens_per_second;
  measured.memory_bytes = 12345678;
  measured.resident_bytes = 234567890;
  measured.communication_share = 1.0 / 3;
  measured.bubble_share = 0.1;
  measured.loss_bits = "40b1f2a3";
  return {layout, {0.25, 12345000, 250000000}, SweepStatus::ok, measured, 3.25, {}};
}

inline SweepRow unmeasured_row(const planner::Layout& layout, SweepStatus status, const std::string& reason) {
  return {layout, {0.5, 1000, 2000}, status, std::nullopt, 61.5, base::verbatim(reason)};
}

}  // namespace troika::sweep
