// troika data: text -> token shards, text -> tokenizer, a look into shards, text -> ids and back.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "config/config.h"

namespace troika::commands {

// `arguments` are those after the verb:
//   prepare INPUT... --tokenizer bytes|DIR --out DIR [--workers N] [--text-key KEY]
//   tokenizer INPUT... --out DIR [--vocab N] [--workers N] [--text-key KEY]
//   inspect SHARDS [--samples N] [--tokenizer bytes|DIR]
//   inspect [settings of train] [flags of inspect_samples.h]
//   encode INPUT... --tokenizer bytes|DIR [--stats] [--workers N] [--text-key KEY]
//   decode [FILE|-] --tokenizer bytes|DIR [--jsonl]
// Writes the result to `out` and, from time to time, one line of progress to `progress` (null: none). Returns 0.
// Throws ConfigError for wrong arguments, DataError for wrong files.
int run_data(const std::vector<std::string>& arguments, std::FILE* out, std::FILE* progress = stderr,
             const config::Environment& environment = {});

}  // namespace troika::commands
