// How texts are continued: what the command line says, else what the model's publisher recommends, else our defaults.
#pragma once

#include <string>

#include "base/language.h"
#include "commands/generate/text_arguments.h"
#include "inference/generate.h"
#include "inference/generation_config.h"
#include "tokenizer/tokenizer.h"
#include "weights/model_source.h"

namespace troika::commands {

// The generation_config.json among the source's files; without it, or where `advice` passes it over, the end marks of its
// config.json. `found`: the path of the file, "" without it. DataError for a file that cannot be used, saying how to pass it over.
inference::GenerationConfig recommended(const weights::ModelSource& source, Advice advice, std::string* found);

inference::TextOptions text_options(const TextArguments& arguments, const inference::GenerationConfig& config,
                                    const tokenizer::Tokenizer& tokenizer);

// "temperature 0.6, top-k 20, stop ids 151645 151643"
base::Text describe(const inference::TextOptions& options);

}  // namespace troika::commands
