// The verb `bench`: kernels, step, comm.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace troika::commands {

// Returns the exit code. ConfigError for wrong words.
int run_bench(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);

}  // namespace troika::commands
