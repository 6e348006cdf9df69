// Models in forms that are not read: files of other programs, names on the Hugging Face Hub, its cache. One answer for every
// verb that takes a model, a base or an adapter.
#pragma once

#include <optional>
#include <string>

#include "base/language.h"

namespace troika::config {

// What `path` is and what to give instead, where it is a file (GGUF, safetensors, PyTorch's, any other), a folder that
// holds nothing but GGUF files, the Hub's cache of a model, an address, or looks like a model's name on the Hub;
// nothing for everything else, whether it is there or not.
std::optional<base::Text> other_than_folder(const std::string& path);

// The same for a word that may name a file of settings too: nothing for files that are no model's.
std::optional<base::Text> other_than_settings(const std::string& path);

// DataError of it.
void refuse_other_than_folder(const std::string& path);

// DataError where the file stands in for one that Git LFS has not fetched.
void refuse_lfs_pointer(const std::string& file);

}  // namespace troika::config
