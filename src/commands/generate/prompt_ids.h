// The ids that a text is continued from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/settings.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {

// The ids of `prompt` behind the tokenizer's begin_ids(), which are not repeated where the prompt brings them; for an
// empty prompt the begin ids alone, and without any the end-of-document mark. ConfigError, with `what` as the prompt's
// name, when that is nothing, when the model does not know one of the ids, or when it has no position left for another.
std::vector<std::int32_t> ids_of(const std::string& prompt, const tokenizer::Tokenizer& tokenizer,
                                 const config::ModelSettings& model, base::Origin what);

// ConfigError when the model, which knows `vocab` tokens, does not know one of the ids.
void check_ids(const std::vector<std::int32_t>& ids, std::int64_t vocab, base::Origin what);

}  // namespace troika::commands
