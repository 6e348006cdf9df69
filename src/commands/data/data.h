// troika data: text -> token shards, text -> tokenizer, a look into shards, text -> ids and back.
#pragma once

#include <cstdio>

#include "commands/verbs.h"

namespace troika::commands {

// The parts of the verb are in arguments.h. Writes the result to `out` and, from time to time, one line of progress to
// `progress` (null: none). Returns 0. Throws ConfigError for wrong arguments, DataError for wrong files.
int run_data(const Call& call, std::FILE* out, std::FILE* progress);

}  // namespace troika::commands
