// Reads a checkpoint's folder without its tensors (docs/formats/checkpoint.md).
#pragma once

#include <string>

namespace troika::config {

// The model/ of the newest step in a folder of checkpoints on this host, complete or not; "" when there is none.
std::string newest_checkpoint_model(const std::string& checkpoints);

// The manifest of a checkpoint of ours at `path`, of the checkpoint whose model/ it is, or of the newest complete one of a run
// or folder of checkpoints, on this host; "" when there is none.
std::string manifest_of(const std::string& path);

// What data.tokenizer is for the model in a folder: the folder itself where it holds tokenizer.json, for a checkpoint's model/
// else what the manifest beside it names; "" when neither says. DataError for a manifest that is none, and as of
// check_model_file.
std::string tokenizer_beside(const std::string& model_folder);

// DataError when the manifest beside a checkpoint's model/ says otherwise of the file `name` in it. A file that is not there,
// or that no manifest on this host lists, passes.
void check_model_file(const std::string& model_folder, const std::string& name);

}  // namespace troika::config
