// The statistics at the end of a run, as a short table.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/language.h"

namespace troika::metrics {

// Losses on the data that a run evaluates on.
struct ValidSummary {
  std::int64_t last_step = 0;  // 0: there was no evaluation
  double last_loss = 0;
  std::int64_t best_step = 0;  // of the whole run, earlier attempts included; 0: none is a number
  double best_loss = 0;
};

struct RunSummary {
  int rank = 0;
  int world_size = 1;
  std::int64_t steps = 0;        // done by this attempt
  std::int64_t tokens_seen = 0;  // loss tokens of this attempt, all ranks
  double loss_sum = 0;           // of the losses of the steps that were not skipped
  std::int64_t steps_with_loss = 0;
  ValidSummary valid;
  base::Text early_end;  // why there were no more steps; "": all were done, or the run was stopped
  double total_seconds = 0;
  double evaluation_seconds = 0;       // of these
  std::int64_t peak_memory_bytes = 0;  // the most that the rank held at once by its own count
  std::vector<std::pair<std::string, std::int64_t>> peak_bytes_by_use;  // the most of each, not all at one time
  std::int64_t peak_resident_bytes = 0;     // of the process; 0: the system does not report it
  std::int64_t program_resident_bytes = 0;  // of these, before the first tensor of the model
  std::vector<std::pair<std::string, double>> phase_seconds;  // in the order to print, such as {"forward", 12.3}
};

// One field per line, then a line per phase with seconds and share of the total; what no phase covers is called
// "other".
std::string format_summary(const RunSummary& summary, base::Language language = base::Language::english);

}  // namespace troika::metrics
