// The folder of the model that a path means: a model folder, an adapter's base, a checkpoint's or a run's model.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/language.h"
#include "config/settings/settings.h"

namespace troika::config {

// The folder whose config.json describes the model at `path`: `path` itself (a Hugging Face model folder, or a GGUF file, gguf/model_files.h), `path`/model
// (a checkpoint), or the model folder of the newest checkpoint below `path` (a run or its checkpoints folder); of an
// adapter's folder that of `base`, where empty of the base that it names. DataError when there is none, saying what was
// looked for; ConfigError when an adapter's base is not there.
std::string model_folder_of(const std::string& path, const std::string& base = "");

// The settings of the model at `path`, with `path` set (hugging_face_config.h).
ModelSettings read_hugging_face_config(const std::string& path, const std::string& base = "");

// The value of data.tokenizer for the model at `path`: the folder with its tokenizer.json, an adapter's own before its base's; for
// a checkpoint its own copy, else the one its manifest names; "" when there is neither. DataError as of tokenizer_beside.
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

// The model/ of the newest step in a folder of checkpoints on this host, complete or not; "" when there is none.
std::string newest_checkpoint_model(const std::string& checkpoints);

// The manifest of a checkpoint of ours at `path`, of the checkpoint whose model/ it is, or of the newest complete one of a run
// or folder of checkpoints, on this host; "" when there is none.
std::string manifest_of(const std::string& path);

// The file of a tokenizer: `spec` itself, or in a folder tokenizer.json, or else SentencePiece's tokenizer.model if it is there.
std::string tokenizer_file(const std::string& spec);
bool has_tokenizer(const std::string& folder);  // whether that file is there

// The value of data.tokenizer for the model in a folder: the folder itself where it has a tokenizer, for a checkpoint's model/
// else the tokenizer that the manifest beside it names; "" when there is neither. DataError for an invalid manifest, and as of
// check_model_file.
std::string tokenizer_beside(const std::string& model_folder);

// DataError when the manifest beside a checkpoint's model/ says otherwise of the file `name` in it. A file that is not there,
// or that no manifest on this host lists, passes.
void check_model_file(const std::string& model_folder, const std::string& name);

// ConfigError where the run's folder `out` (train.out) holds a model, an adapter, a tokenizer or is a checkpoint: verbs that are
// given that folder would take what it holds, and not what was trained. Folders below such a one are fine.
void refuse_out_of_model(const std::string& out);

// Models in forms that are not read. What `path` is and what to give instead, where it is a file (safetensors, PyTorch's, any other but GGUF), a folder that
// holds nothing but GGUF files, the Hub's cache of a model, an address, or looks like a model's name on the Hub;
// nothing for everything else, whether it is there or not.
std::optional<base::Text> other_than_folder(const std::string& path);

// The same for a word that may name a file of settings too: nothing for files that are no model's.
std::optional<base::Text> other_than_settings(const std::string& path);

// DataError of it.
void refuse_other_than_folder(const std::string& path);

// DataError where the file is a pointer to one that Git LFS has not fetched.
void refuse_lfs_pointer(const std::string& file);

}  // namespace troika::config
