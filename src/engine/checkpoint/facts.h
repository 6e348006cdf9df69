// The contents of a checkpoint's manifest besides its tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troika::checkpoint {

// What is saved besides tensors. All ranks pass equal values.
struct Facts {
  std::int64_t step = 0;  // optimizer steps done
  std::string settings_yaml;
  std::string model_config_json;             // config.json of the model folder
  std::map<std::string, std::string> extra;  // small named values: tokens seen, data fingerprint, ...
};

// One safetensors file of a checkpoint.
struct Part {
  std::string file;  // "model/model-00001-of-00003.safetensors"
  std::int64_t bytes = 0;
  std::string hash;          // xxHash3 of the file
  std::string host;          // where it was written
  std::vector<int> holders;  // ranks of the channel that see a copy with this size and hash, ascending
};

}  // namespace troika::checkpoint
