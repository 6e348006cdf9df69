// `troika bench kernels`: every operation of a training step, timed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::bench {

// On the CPU, or on a device by its own clock. Arguments: the settings of train, --csv FILE, --seconds S (for each operation) and
// --device-rates NAME.
int run_bench_kernels(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
                      base::Language language);

}  // namespace troika::bench
