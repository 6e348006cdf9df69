// Settings as YAML, read and written.
#pragma once

#include <string>

#include "base/language.h"
#include "config/layers.h"

namespace troika::config {

// Reads sections with keys, and familiar spellings at top level. `origin` is the file's name for messages. All errors
// of the content are collected in the layer, each with its line; after 100 the rest is not read. At most 1 MiB of text.
Layer read_yaml(const std::string& text, base::Origin origin);

}  // namespace troika::config
