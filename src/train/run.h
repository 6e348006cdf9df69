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

// Errors are the four kinds; the first cause is named when another rank is guilty.
Outcome run(const RunRequest& request);

}  // namespace troika::train
