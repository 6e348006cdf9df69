// One kill in one run, and what came of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/step_metrics.h"
#include "soak/cluster.h"

namespace troika::soak {

// What a run that was left alone leaves behind.
struct Reference {
  std::string folder;  // of its hosts
  std::vector<metrics::StepMetrics> rows;
  std::map<std::string, std::string> tensors;  // hashes of the files of the last checkpoint, by host and name
};

Reference make_reference(const Setting& setting, const Layout& layout, const std::string& folder);

struct Result {
  bool phase_met = true;                // else the run was past it, or over, before the kill
  std::int64_t rows_at_kill = 0;        // steps that were done
  std::optional<double> named_seconds;  // from the kill to the sentence of a launcher that lives; where one is due
  double named_bound = 0;               // 0: none is due
  std::int64_t steps_lost = 0;
  double seconds = 0;               // from the kill to the end of the run
  std::vector<std::string> faults;  // what was not as promised
  std::string to_json(const Kill& kill) const;
};

// Runs in a folder of its own, which is removed unless something was not as promised.
Result try_kill(const Setting& setting, const Kill& kill, const Reference& reference, const std::string& folder);

}  // namespace troika::soak
