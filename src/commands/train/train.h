// The verb `train`.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace troika::commands {

// Returns the exit code: 0, or 130 when the run was interrupted and has saved.
int run_train(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);

}  // namespace troika::commands
