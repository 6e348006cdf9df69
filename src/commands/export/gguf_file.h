// Writes a model from any source of weights as one GGUF file (docs/formats/gguf.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "commands/export/export.h"
#include "commands/export/model_folder.h"
#include "gguf/keys.h"
#include "weights/model_source.h"

namespace troika::commands {

bool is_gguf_name(const std::string& to);  // ends in .gguf

// The file appears whole or not at all. Tensors with one dimension, norms, and tables of positions are F32; with q8_0
// matrices whose rows are no multiple of 32 are F16. Memory: 128 MiB. ConfigError where `to` is there; DataError as of
// ModelSource::load, where GGUF has no architecture for the model or no name for the pattern of its tokenizer, and for
// what cannot be written.
ExportReport write_gguf_file(weights::ModelSource& source, const ExportArguments& request);

// The keys of the tokenizer and the chat template in the files of a model's folder, by name: tokenizer.json,
// tokenizer_config.json, chat_template.jinja, config.json and generation_config.json. `vocab`: ids behind the
// tokenizer's own become unused tokens. Nothing where there is no tokenizer.json. DataError for a tokenizer that is not
// byte-level BPE or SentencePiece's BPE, and as of gguf::pre_tokenizer_of.
void add_tokenizer_keys(const std::map<std::string, std::string>& files, std::int64_t vocab, gguf::Keys* keys);

}  // namespace troika::commands
