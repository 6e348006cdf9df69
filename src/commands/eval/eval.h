// The verb `eval`.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace troika::commands {

// Returns the exit code.
int run_eval(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);

}  // namespace troika::commands
