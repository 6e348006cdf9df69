// How many tokens a model knows, before its data are open.
#pragma once

#include <cstdint>
#include <optional>

#include "config/settings.h"

namespace troika::data {

// model.vocab, or else the size of data.tokenizer, rounded up as a model's is. Errors as tokenizer::open_tokenizer's.
std::int64_t vocabulary_of(const config::Settings& settings);

// Nothing where there is no such tokenizer here: the ranks report that.
std::optional<std::int64_t> vocabulary_here(const config::Settings& settings);

}  // namespace troika::data
