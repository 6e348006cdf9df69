// Writes a model from any source of weights, or an adapter, as one GGUF file (docs/formats/gguf.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "commands/export/export.h"
#include "commands/export/model_folder.h"
#include "gguf/keys.h"
#include "weights/adapter_source.h"
#include "weights/model_source.h"

namespace troika::commands {

bool is_gguf_name(const std::string& to);  // ends in .gguf

// By write_gguf (gguf_writer.h). ConfigError where `to` is there; DataError as of ModelSource::load, where GGUF has no
// architecture for the model or no name for the pattern of its tokenizer.
ExportReport write_gguf_file(weights::ModelSource& source, const ExportArguments& request);

// The adapter alone, as llama.cpp takes it beside its base (convert_lora_to_gguf.py): A and B of each product, and one
// alpha; where a product has another scale, its B is multiplied by the rest. The base is read for its family. automatic
// is fp32. Errors as of write_gguf_file.
ExportReport write_gguf_adapter(weights::AdapterSource& source, const ExportArguments& request);

// The keys of the tokenizer and the chat template in the files of a model's folder, by name: tokenizer.json,
// tokenizer_config.json, chat_template.jinja, config.json and generation_config.json. `vocab`: ids behind the
// tokenizer's own become unused tokens. Nothing where there is no tokenizer.json. DataError for a tokenizer that is not
// byte-level BPE or SentencePiece's BPE, and as of gguf::pre_tokenizer_of.
void add_tokenizer_keys(const std::map<std::string, std::string>& files, std::int64_t vocab, gguf::Keys* keys);

}  // namespace troika::commands
