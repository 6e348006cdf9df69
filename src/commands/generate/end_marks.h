// What ends an answer.
#pragma once

#include "data/chat_template.h"
#include "inference/generate.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {

// Adds to `options` what the template writes behind an answer (<|im_end|>), and the tokenizer's end mark: as a stop id
// where it is one token, what the template writes else as a stop text.
void add_end_marks(const data::ChatTemplate& chat_template, const tokenizer::Tokenizer& tokenizer,
                   inference::TextOptions* options);

}  // namespace troika::commands
