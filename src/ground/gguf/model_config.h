// What a GGUF file says about its model as a config.json of Hugging Face, and back.
#pragma once

#include <string>
#include <vector>

#include "gguf/architecture.h"
#include "gguf/header.h"
#include "gguf/keys.h"

namespace troika::gguf {

// config.json of the model of `file`, with the ids that begin, end and pad a text. The head is tied where the file has
// no tensor output.weight or one with the bytes of token_embd.weight. Whether such a model can be computed is for who
// reads the text (hugging_face_config.h). DataError as of architecture_of, for keys that are missing, and for rotary
// factors (rope_freqs.weight) other than those of Llama 3.
std::string config_json(const File& file);

// The factors by which the rotary frequencies of a head are divided, as rope_freqs.weight holds them, where
// `config_json` scales as Llama 3 does; empty elsewhere.
std::vector<float> rotary_factors(const std::string& config_json);

// The keys of `architecture` for a config.json. DataError for a scaling of positions that GGUF has no key for.
void add_config_keys(const std::string& config_json, const Architecture& architecture, Keys* keys);

}  // namespace troika::gguf
