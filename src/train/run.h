// One rank's whole run, from settings to the last checkpoint: what the verb `train` does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/resolve.h"
#include "data/samples.h"
#include "rendezvous/identity.h"
#include "train/trainer.h"

namespace troika::train {

// A run on other samples than data.train names, without checkpoints; with an empty train.out nothing is written.
struct Trial {
  std::shared_ptr<const data::Samples> samples;
  std::int64_t vocab = 0;                                              // of these samples
  std::function<void(std::int64_t step, double seconds)> on_step;      // after each, on every rank; may be empty
  std::function<void(const Plan& plan, comm::Channel& world)> at_end;  // collective, after the last step; may be empty
};

struct RunRequest {
  config::Resolved resolved;
  std::vector<std::string> notes;  // of the command line, shown by rank 0
  rendezvous::Identity identity;
  std::function<bool()> stop_wished;
  std::FILE* screen = nullptr;   // of this process; only rank 0 writes to it
  const Trial* trial = nullptr;  // null: a run as the settings say
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
