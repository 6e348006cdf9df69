// `troika bench step`: some training steps on random tokens beside an ideal step of the same machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::bench {

// Arguments: the settings of train, --json, and --seconds S for measuring each rate of the
// machine. Alone or as one rank of a launched run.
int run_bench_step(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
                   base::Language language);

}  // namespace troika::bench
