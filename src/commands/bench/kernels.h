// `troika bench kernels`: every operation of a training step, timed.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace troika::commands {

// Arguments: the settings of train, --csv FILE and --seconds S (for each operation).
int run_bench_kernels(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);

}  // namespace troika::commands
