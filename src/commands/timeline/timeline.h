// `troika timeline RUN_DIR`: what every rank did in a recorded step, as a grid, a table and a file for a trace viewer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/flag_table.h"

namespace troika::commands {

// `arguments`: those after the verb. Returns the text to print.
// Without --step the newest recorded step; without --grid and --summary both. Reads RUN_DIR/timeline; when the merged file of
// the step is missing, or with --merge, merges the rank files onto rank 0's clock and writes it there.
// ConfigError: malformed arguments, no such run folder, no such step. DataError: a damaged or missing trace file.
std::string timeline_report(const std::vector<std::string>& arguments, base::Language language);

struct TimelineArguments {
  std::string run_dir;
  std::optional<std::int64_t> step;  // unset: the newest
  bool grid = false;
  bool summary = false;
  bool merge = false;
};

config::FlagTable timeline_flags(TimelineArguments& a);

}  // namespace troika::commands
