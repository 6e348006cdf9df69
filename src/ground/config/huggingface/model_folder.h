// The folder of the model that a path means: a model folder, an adapter's base, a checkpoint's or a run's model.
#pragma once

#include <string>

#include "base/error.h"
#include "config/settings.h"

namespace troika::config {

// The folder whose config.json describes the model at `path`: `path` itself (a Hugging Face model folder), `path`/model
// (a checkpoint), or the model folder of the newest checkpoint below `path` (a run or its checkpoints folder); of an
// adapter's folder that of `base`, where empty of the base that it names. DataError when there is none, saying what was
// looked for; ConfigError when an adapter's base is not there.
std::string model_folder_of(const std::string& path, const std::string& base = "");

// The settings of the model at `path`, with `path` set (hugging_face_config.h).
ModelSettings read_hugging_face_config(const std::string& path, const std::string& base = "");

// What data.tokenizer is for the model at `path`: the folder with its tokenizer.json, an adapter's own before its
// base's; of a checkpoint its own copy, else what its manifest names; "" when neither says. DataError as of tokenizer_beside.
std::string tokenizer_of(const std::string& path, const std::string& base = "");

inline const char* const adapter_config_name = "adapter_config.json";

// Whether an adapter_config.json is in it, whatever is beside it. The rest: weights/adapter_source.h.
bool is_adapter_folder(const std::string& path);

// Its base_model_name_or_path; "" when it states none.
std::string base_named_by(const std::string& path);

// That the base `named` by the adapter at `path` is not there, or "" named, and how to name one.
base::ConfigError without_base(const std::string& path, const std::string& named);

// Adapters may be on adapters, so many at most.
inline constexpr int most_adapters = 8;
base::DataError too_many_adapters(const std::string& path);

}  // namespace troika::config
