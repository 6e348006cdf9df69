// How texts are continued: what the command line says, else what the model's publisher recommends, else our defaults.
#pragma once

#include <string>

#include "commands/generate/text_arguments.h"
#include "data/tokenizer.h"
#include "train/generate.h"
#include "train/generation_config.h"
#include "train/model_source.h"

namespace troika::commands {

// The generation_config.json among the source's companions; without it the end marks of its config.json. `found`: the
// path of the file, "" without it.
train::GenerationConfig recommended(const train::ModelSource& source, std::string* found);

train::TextOptions text_options(const TextArguments& arguments, const train::GenerationConfig& config,
                                const data::Tokenizer& tokenizer);

// "temperature 0.6, top-k 20, stop ids 151645 151643"
std::string describe(const train::TextOptions& options);

}  // namespace troika::commands
