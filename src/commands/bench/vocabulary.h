// The vocabulary of a run without data.
#pragma once

#include "config/settings.h"

namespace troika::commands {

// model.vocab, or the tokenizer's size rounded up to a multiple of 64.
std::int64_t vocabulary_of(const config::Settings& settings);

}  // namespace troika::commands
