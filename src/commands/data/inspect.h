// What a shard folder or file holds, and what a run would train on, as text.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/config.h"

namespace troika::commands {

// Reads and verifies everything. `samples` documents, evenly spread, are shown: as text when `tokenizer` (a spec, "" for none) is
// given, else as ids. Throws DataError for damage and when the tokenizer is not the one that made the shards.
std::string inspect_shards(const std::string& path, std::int64_t samples, const std::string& tokenizer,
                           base::Language language);

// `arguments`: settings of train (data, batch.seq_len, model.path, a YAML file) and the flags of inspect_flags. Opens
// data.train, or data.valid where that alone is given, as train does and into the same cache. Writes counts and samples
// to `out`, progress to `progress` (null: none). ConfigError, DataError.
void inspect_samples(const std::vector<std::string>& arguments, const config::Environment& environment,
                     base::Language language, std::FILE* out, std::FILE* progress);

}  // namespace troika::commands
