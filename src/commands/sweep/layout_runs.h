// Runs the layouts of a sweep one after the other, a row of FOLDER/summary.csv for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/launch/signals.h"
#include "commands/sweep/measured.h"
#include "commands/sweep/progress.h"
#include "commands/sweep/row.h"
#include "config/flag_table.h"
#include "config/settings.h"
#include "planner/estimate.h"

namespace troika::commands {

// The settings of a training for a few steps that are only measured: the last one is recorded, nothing is saved or evaluated.
// Data are prepared in FOLDER/data unless the settings name a place.
config::Settings measuring_settings(config::Settings settings, std::int64_t steps, const std::string& folder);

struct SweepPlan {
  std::vector<planner::Estimate> estimates;  // in the order to run; all of one global batch
  config::Settings settings;                 // measuring_settings
  std::int64_t nproc = 1;
  std::string folder;
  std::optional<double> deadline_seconds;  // unset: by what is predicted
  config::Environment environment;         // of the processes
  std::string troika = "/proc/self/exe";
  std::string program;  // as SweepArguments
};

SweepStep step_of(const SweepPlan& plan);
double deadline_of(const SweepPlan& plan, const planner::Estimate& estimate);

struct SweepOutcome {
  SweepRows rows;            // of the file, in its order: those of earlier calls too
  bool interrupted = false;  // by a signal that asks to stop
};

// Each layout has FOLDER/runs/NAME, fresh, with the settings beside it in NAME.yaml. The file is written whole after each. A
// layout that has a row is not run again (kept.h); its row gets today's prediction. ConfigError when the folder holds another
// sweep, or another process works in it.
SweepOutcome run_layouts(const SweepPlan& plan, Signals& signals, SweepProgress& progress);

// "dp2-pp1-tp1-cp1-zero1-1f1b-v1-mb4-recompute_none-offload_none-fp32"
std::string folder_name_of(const planner::Layout& layout);

}  // namespace troika::commands
