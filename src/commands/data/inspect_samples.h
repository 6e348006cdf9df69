// troika data inspect with the settings of train: what a run would train on, as text.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/config.h"

namespace troika::commands {

// `arguments`: settings of train (data, batch.seq_len, model.path, a YAML file) and the flags of inspect_flags. Opens
// data.train, or data.valid where that alone is given, as train does and into the same cache. Writes counts and samples
// to `out`, progress to `progress` (null: none). ConfigError, DataError.
void inspect_samples(const std::vector<std::string>& arguments, const config::Environment& environment,
                     base::Language language, std::FILE* out, std::FILE* progress);

}  // namespace troika::commands
