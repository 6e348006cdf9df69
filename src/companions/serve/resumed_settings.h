// What of a run's last settings the page goes on with. The folder may come from anybody, so they are read as a form is.
#pragma once

#include <string>
#include <vector>

#include "serve/run_config.h"

namespace troika::serve {

// The flags of train for them, without train.out and train.resume; paths whole, and below `root`. `from`: where relative ones
// begin, as far as that is below `root`; else they begin there. ConfigError with all that only a person may start: a command, a path that leads elsewhere.
std::vector<std::string> flags_of_resumed(const ConfigFile& config, const std::string& from, const std::string& root);

}  // namespace troika::serve
