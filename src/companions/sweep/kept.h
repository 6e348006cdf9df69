// What an earlier call left in a sweep's folder, so that the next one resumes.
#pragma once

#include <cstdint>
#include <string>

#include "config/settings.h"
#include "sweep/row.h"

namespace troika::sweep {

// What rows of one table have in common.
struct SweepBasis {
  config::Settings settings;  // with one layout for all: whichever is run next, rows stay comparable
  std::int64_t nnodes = 1, nproc = 1;
};

// Writes FOLDER/sweep.json, or compares with it. ConfigError that names the first difference: rows of two trainings do not go
// into one table.
void keep_basis(const std::string& folder, const SweepBasis& basis);

SweepRows kept_rows(const std::string& folder);  // of FOLDER/summary.csv; none without it

// Whether a layout with this row is to be run again: it was interrupted, or had less time than there is now.
bool is_to_be_run_again(const SweepRow& row, double deadline_seconds);

}  // namespace troika::sweep
