// The facts of a sweep about one layout: a row of its table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "config/settings/settings.h"
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
  base::Text reason;                      // why nothing was measured; one line
};

using SweepRows = std::vector<SweepRow>;

// Those that were measured, the most positions per second first; then the others, in their order.
SweepRows best_first(SweepRows rows);
const SweepRow* find_row(const SweepRows& rows, const planner::Layout& layout);  // nullptr: none

// The results of a run in its folder, as numbers.

// The same for every layout of a sweep.
struct SweepStep {
  std::int64_t steps = 0;    // of a run
  std::int64_t samples = 0;  // of a step
  std::int64_t tokens = 0;
};

// The most that a rank's process of this host took, by its samples; 0: the system does not tell.
std::int64_t most_resident(const std::string& run_folder);

// The measurements of a run whose last step was recorded. DataError when metrics or timeline are missing or short.
SweepMeasured measured_in(const std::string& run_folder, const SweepStep& step);

// The remains of an earlier call in a sweep's folder, so that the next one resumes.

// The common part of the rows of one table.
struct SweepBasis {
  config::Settings settings;  // with one layout for all: whichever is run next, rows stay comparable
  std::int64_t nnodes = 1, nproc = 1;
};

// Writes FOLDER/sweep.json, or compares with it, but for where the folder is: it may have been copied. ConfigError that names the first
// difference: rows of two trainings do not go into one table.
void keep_basis(const std::string& folder, const SweepBasis& basis);

SweepRows kept_rows(const std::string& folder);  // of FOLDER/summary.csv; none without it

// Whether a layout with this row is to be run again: it was interrupted, or had less time than there is now.
bool is_to_be_run_again(const SweepRow& row, double deadline_seconds);

// DIR/summary.csv. Format: docs/formats/sweep.md.
std::string to_csv(const SweepRows& rows);

// A value of a row as it is written there; "" where nothing was measured.
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
