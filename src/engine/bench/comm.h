// `troika bench comm`: latency and bandwidth between the ranks, by kind of message and size.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::bench {

// One rank of a launched run of two or more. Arguments: --csv FILE, --seconds S, --most BYTES, settings of train.
// ConfigError alone; BugError when data arrive changed.
int run_bench_comm(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
                   base::Language language);

}  // namespace troika::bench
