// What a shard folder or file holds, as text.
#pragma once

#include <cstdint>
#include <string>

#include "base/language.h"

namespace troika::commands {

// Reads and verifies everything. `samples` documents, evenly spread, are shown: as text when `tokenizer` (a spec, "" for none) is
// given, else as ids. Throws DataError for damage and when the tokenizer is not the one that made the shards.
std::string inspect_shards(const std::string& path, std::int64_t samples, const std::string& tokenizer,
                           base::Language language);

}  // namespace troika::commands
