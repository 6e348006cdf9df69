// Where `troika data tokenizer` writes: it never writes over anything.
#pragma once

#include <cstdint>
#include <string>

#include "tokenizer/bpe.h"

namespace troika::commands {

// Before the training. ConfigError unless `folder` is absent, empty, or holds the files of a tokenizer alone, with at most
// `vocab` ids.
void check_tokenizer_folder(const std::string& folder, std::int64_t vocab);

enum class Saved { now, before };

// Writes the files of the tokenizer where they are missing. Saved::before: all were there, and equal. ConfigError for others.
Saved save_tokenizer_once(const tokenizer::BpeModel& model, const std::string& folder);

}  // namespace troika::commands
