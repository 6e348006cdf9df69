// The numbers of a model from the config.json that Hugging Face's tools write beside its weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "config/settings/settings.h"

namespace troika::config {

// The class that config.json names for a family, which it calls model_type by our word: "Qwen3ForCausalLM".
std::string_view hugging_face_class(Family family);

// config.json -> settings, `preset` no_preset (presets.h), `path` empty. Families by model_type: qwen3, qwen2, llama,
// mistral, gpt2. Missing keys take the defaults that transformers documents for the family. DataError that lists, all
// at once and each by name and value, every key that is malformed, out of the bounds of its setting or asks for what is
// not supported (sliding windows, mixture of experts, other activations, other scalings of rotary positions, quantised
// weights, ...). Keys that change nothing in training are ignored, and so is dropout, which is not applied. `origin` is
// named.
ModelSettings parse_hugging_face_config(std::string_view json, const std::string& origin);

// Notes on values of a config.json that may be meant otherwise than they are read, a sentence each: two values of rope_theta.
std::vector<base::Text> notes_on_config(std::string_view json, const std::string& origin);

}  // namespace troika::config
