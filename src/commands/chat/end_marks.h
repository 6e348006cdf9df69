// What ends an answer.
#pragma once

#include "data/tokenizer.h"
#include "datasets/chat_template.h"
#include "train/generate.h"

namespace troika::commands {

// Adds to `options` what the template writes behind an answer (<|im_end|>), and the tokenizer's end mark: as a stop id
// where it is one token, what the template writes else as a stop text.
void add_end_marks(const datasets::ChatTemplate& chat_template, const data::Tokenizer& tokenizer,
                   train::TextOptions* options);

}  // namespace troika::commands
