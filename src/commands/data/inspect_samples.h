// troika data inspect with the settings of train: what a run would train on, as text.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "config/config.h"

namespace troika::commands {

extern const char* const inspect_usage;

// `arguments`: settings of train (data, batch.seq_len, model.path, a YAML file), and of this verb --samples N, --sample
// INDEX, --ids, --color auto|always|never. Opens data.train, or data.valid where that alone is given, as train does and
// into the same cache. Writes counts and samples to `out`, progress to `progress` (null: none). ConfigError, DataError.
void inspect_samples(const std::vector<std::string>& arguments, const config::Environment& environment, std::FILE* out,
                     std::FILE* progress);

}  // namespace troika::commands
