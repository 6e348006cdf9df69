// The numbers of a model from the config.json that Hugging Face's tools write beside its weights.
#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"

namespace troika::config {

// The preset of settings that come from a file: none is below them.
inline constexpr std::string_view no_preset = "none";

// The folder whose config.json describes the model at `path`: `path` itself (a Hugging Face model folder), `path`/model
// (a checkpoint), or the model folder of the newest checkpoint below `path` (a run or its checkpoints folder); of an
// adapter's folder that of `base`, where empty of the base that it names. DataError when there is none, saying what was
// looked for; ConfigError when an adapter's base is not there.
std::string model_folder_of(const std::string& path, const std::string& base = "");

// What data.tokenizer is for the model at `path`: the folder with its tokenizer.json, an adapter's own before its
// base's; for a checkpoint what its manifest names; "" when neither says. DataError for a manifest that is none.
std::string tokenizer_of(const std::string& path, const std::string& base = "");

// config.json -> settings, `preset` no_preset, `path` empty. Families by model_type: qwen3, qwen2, llama, mistral,
// gpt2. Missing members take the defaults that transformers documents for the family. DataError that lists, all at once
// and each by name and value, every member that is malformed, out of the bounds of its setting or asks for what is not
// supported (sliding windows, mixture of experts, other activations, other scalings of rotary positions, quantised
// weights, ...). Members that change nothing in training are passed over, and so is dropout, which is not applied.
// `origin` is named.
ModelSettings parse_model_config(std::string_view json, const std::string& origin);

// The settings of the model at `path` (see model_folder_of), with `path` set.
ModelSettings read_model_config(const std::string& path, const std::string& base = "");

}  // namespace troika::config
