// The facts about a model before its weights are read, and the model once they are.
#pragma once

#include <memory>
#include <string>

#include "base/language.h"
#include "commands/generate/text_arguments.h"
#include "data/chat_template.h"
#include "inference/generate.h"
#include "inference/sampling.h"
#include "tokenizer/tokenizer.h"
#include "weights/model_source.h"

namespace troika::commands {

struct Prepared {
  std::unique_ptr<weights::ModelSource> source;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::string tokenizer_name;  // what open_tokenizer took
  std::string advised_by;      // the generation_config.json that is followed; "": none
  inference::TextOptions options;
};

// Opens what the arguments name; notes on the model go to stderr, in `language`. Errors as of weights::open_model; ConfigError when there is no
// tokenizer.
Prepared prepare(const TextArguments& arguments, base::Language language);

// Says on stderr how tokens are drawn, where the publisher recommends it.
void tell_advice(const Prepared& prepared, base::Language language);

// Reads the weights. `context`: the most positions of a text, cut to what the model has.
inference::TextModel open_text_model(const TextArguments& arguments, const Prepared& prepared, std::int64_t context);

// How texts are continued: what the command line says, else what the model's publisher recommends, else our defaults.
// The generation_config.json among the source's files; without it, or where `advice` passes it over, the end marks of its
// config.json. `found`: the path of the file, "" without it. DataError for a file that cannot be used, saying how to pass it over.
inference::GenerationConfig recommended(const weights::ModelSource& source, Advice advice, std::string* found);

inference::TextOptions text_options(const TextArguments& arguments, const inference::GenerationConfig& config,
                                    const tokenizer::Tokenizer& tokenizer);

// "temperature 0.6, top-k 20, stop ids 151645 151643"
base::Text describe(const inference::TextOptions& options);

// Adds to `options` what the template writes behind an answer (<|im_end|>), and the tokenizer's end mark: as a stop id
// where it is one token, what the template writes else as a stop text.
void add_end_marks(const data::ChatTemplate& chat_template, const tokenizer::Tokenizer& tokenizer,
                   inference::TextOptions* options);

// The same of the template that the run of a model was told to use (ModelSource::chat_template): its texts end there whatever
// generation_config.json says. Nothing for the tokenizer's own, and for a file that is gone.
void add_end_marks_of_run(const std::string& choice, const std::string& tokenizer_name,
                          const tokenizer::Tokenizer& tokenizer, inference::TextOptions* options);

}  // namespace troika::commands
