// DeepSpeed's JSON as settings.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "config/import/flat_keys.h"
#include "config/layers.h"

namespace troika::config {

struct DeepSpeed {
  Layer layer;
  std::vector<Assignment> ruled_out;  // values that settings do not have: bf16 with "enabled": false
};

// `key`: the path of a JSON file or the object itself. Its ZeRO stage, offloading of the optimizer, precision,
// clipping, batch, optimizer and loss scale as assignments; "auto" leaves a setting open. A relative path is looked
// for here and then beside `yaml`. A file that is absent but has one of the usual names (ds_z2_config.json, ...) is
// known by it. All keys without effect share one note; an unknown key of a section that is read is an error. Errors are kept in the
// layer; DataError for a file that is not JSON or above 1 MiB.
DeepSpeed read_deepspeed(const FlatKey& key, const std::string& yaml);

// Takes into `mine` what it states, and returns that. An error where `mine` states another value. Where a half precision is ruled out
// and nobody states a precision, it is fp32.
std::vector<Assignment> take_deepspeed(DeepSpeed theirs, Layer* mine);

// The same of the object itself (deepspeed_json.cc). `root`: an object. `origin` is named in errors, which are in the layer.
DeepSpeed read_deepspeed_json(const nlohmann::json& root, const base::Text& origin);

}  // namespace troika::config
