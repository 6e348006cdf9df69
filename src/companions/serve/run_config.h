// The settings of a run's last attempt, and the command lines that train with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/run_state.h"

namespace troika::serve {

struct ConfigFile {
  std::string name;  // "config-2.yaml", of the second attempt in a folder
  std::string yaml;
};
std::optional<ConfigFile> last_config(const std::string& folder);

// Who takes part: how many ranks on how many hosts.
struct RunSize {
  int ranks = 1;
  std::vector<std::string> hosts;  // by their first rank
  double predicted_seconds = 0;    // of a step, by the run itself; 0: not predicted
};
// As state.json tells it; nothing where it does not.
std::optional<RunSize> size_of_run(const std::optional<records::RunState>& state);

// {"yaml", "command", "resume_command"}, each null where it is not known.
std::string config_json(const std::string& folder);

}  // namespace troika::serve
