// manifest.json: the list of a checkpoint's parts and its facts. A checkpoint exists when its manifest does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troika::checkpoint {

// The facts saved besides tensors. All ranks pass equal values.
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

struct Manifest {
  Facts facts;
  std::int64_t world_size = 1;  // of the run that wrote it
  std::vector<Part> parts;      // without holders
  // Files of model/ that hold no tensors, to be recognised when damaged (config::check_model_file).
  struct File {
    std::string file;  // "model/tokenizer.json"
    std::int64_t bytes = 0;
    std::string hash;  // xxHash3 of the file
  };
  std::vector<File> files = {};
};

std::string manifest_to_text(const Manifest& manifest);

// DataError naming `origin` when damaged (it carries its own hash), of another version, or with a part outside the
// folder.
Manifest manifest_from_text(const std::string& text, const std::string& origin);

inline const char* const manifest_name = "manifest.json";

std::string step_folder_name(std::int64_t step);  // "step-00000100"
bool parse_step_folder_name(const std::string& name, std::int64_t* step);
inline const char* const partial_suffix = ".partial";  // behind the folder's name while it is written
bool parse_partial_folder_name(const std::string& name, std::int64_t* step);
inline const char* const left_suffix = ".left";  // of a later step whose course of training was left

}  // namespace troika::checkpoint
