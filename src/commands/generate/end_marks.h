// What ends an answer.
#pragma once

#include <string>

#include "data/chat_template.h"
#include "inference/generate.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {

// Adds to `options` what the template writes behind an answer (<|im_end|>), and the tokenizer's end mark: as a stop id
// where it is one token, what the template writes else as a stop text.
void add_end_marks(const data::ChatTemplate& chat_template, const tokenizer::Tokenizer& tokenizer,
                   inference::TextOptions* options);

// The same of the template that the run of a model was told to use (ModelSource::chat_template): its texts end there whatever
// generation_config.json says. Nothing for the tokenizer's own, and for a file that is gone.
void add_end_marks_of_run(const std::string& choice, const std::string& tokenizer_name,
                          const tokenizer::Tokenizer& tokenizer, inference::TextOptions* options);

}  // namespace troika::commands
