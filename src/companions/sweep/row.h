// What a sweep knows of one layout: a row of its table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/estimate.h"

namespace troika::sweep {

// How a run of a layout ended. Words: docs/formats/sweep.md.
enum class SweepStatus { ok, failed, timeout, interrupted };
constexpr std::array<std::string_view, 4> words_of(SweepStatus) { return {"ok", "failed", "timeout", "interrupted"}; }

struct SweepMeasured {
  double step_seconds = 0;  // median of the steps after the first
  double samples_per_second = 0;
  double tokens_per_second = 0;     // positions of the sequences, with loss or not
  std::int64_t memory_bytes = 0;    // the most that any rank held, by its own count
  std::int64_t resident_bytes = 0;  // the most that any rank's process took; 0: the system does not tell
  double communication_share = 0;   // of the time of all ranks in the last step
  double bubble_share = 0;          // the same
  std::string loss_bits;            // of the last step, 8 hex digits
};

struct SweepPredicted {
  double step_seconds = 0;
  std::int64_t memory_bytes = 0;    // as SweepMeasured::memory_bytes
  std::int64_t resident_bytes = 0;  // with the process itself
};
SweepPredicted predicted_of(const planner::Estimate& estimate);

struct SweepRow {
  planner::Layout layout;
  SweepPredicted predicted;
  SweepStatus status = SweepStatus::failed;
  std::optional<SweepMeasured> measured;  // with SweepStatus::ok
  double seconds = 0;                     // from start to end of its processes
  std::string reason;                     // why nothing was measured; one line
};

using SweepRows = std::vector<SweepRow>;

// Those that were measured, the most positions per second first; then the others, in their order.
SweepRows best_first(SweepRows rows);
const SweepRow* find_row(const SweepRows& rows, const planner::Layout& layout);  // nullptr: none

}  // namespace troika::sweep
