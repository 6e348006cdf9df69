// One rank's whole run, from settings to the last checkpoint: what the verb `train` does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/resolve.h"
#include "rendezvous/identity.h"
#include "train/trainer.h"

namespace troika::train {

struct RunRequest {
  config::Resolved resolved;
  std::vector<std::string> notes;  // of the command line, shown by rank 0
  rendezvous::Identity identity;
  std::function<bool()> stop_wished;
  std::FILE* screen = nullptr;  // of this process; only rank 0 writes to it
};

struct RunResult {
  int exit_code = 0;  // 130: interrupted after saving
  metrics::RunSummary summary;
};

// Errors are the four kinds, one sentence each; the first cause is named when another rank is guilty. What else is known
// (context, the last messages) goes to the rank's log. Under our launcher, which reads errors from the store and shows
// them once for all ranks, an error that reached it becomes only its exit code.
RunResult run(const RunRequest& request);

}  // namespace troika::train
