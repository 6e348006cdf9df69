#include "config/huggingface/checkpoint_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::config {
namespace {

// The step of a complete checkpoint's folder name, "step-00000100"; -1 for other names.
std::int64_t step_of(const std::string& name) {
  std::int64_t step = -1;
  if (name.rfind("step-", 0) != 0 || !base::parse_int(name.substr(5), &step)) return -1;
  return fmt::format("step-{:08}", step) == name ? step : -1;
}

// The manifest of the checkpoint whose model/ the folder is; null where there is none on this host.
nlohmann::json manifest_beside(const std::string& model_folder, std::string* path) {
  const std::size_t name = model_folder.rfind('/') + 1;
  *path = model_folder.substr(0, name) + "manifest.json";
  if (model_folder.substr(name) != "model" || !base::file_exists(*path)) return nullptr;
  nlohmann::json manifest = base::parse_json(base::read_regular_file(*path, base::most_list_bytes), *path);
  const bool ours = manifest.is_object() && manifest.value("format", nlohmann::json()) == "troika-checkpoint";
  return ours ? manifest : nullptr;  // another program's file may have that name
}

}  // namespace

std::string newest_checkpoint_model(const std::string& checkpoints) {
  std::int64_t newest = -1;
  std::string folder;
  for (const std::string& name : base::list_directory(checkpoints)) {
    const std::string model = checkpoints + "/" + name + "/model";
    if (step_of(name) <= newest || !base::file_exists(model + "/config.json")) continue;
    newest = step_of(name);
    folder = model;
  }
  return folder;
}

std::string manifest_of(const std::string& given) {
  const std::string path = base::without_end_slashes(given), own = path + "/manifest.json";
  std::string above;
  if (!manifest_beside(path, &above).is_null()) return above;
  if (base::file_exists(own)) return own;
  for (const std::string& checkpoints : {path + "/checkpoints", path}) {
    std::int64_t newest = -1;
    std::string found;
    for (const std::string& name : base::list_directory(checkpoints)) {
      const std::string file = checkpoints + "/" + name + "/manifest.json";
      if (step_of(name) <= newest || !base::file_exists(file)) continue;
      newest = step_of(name);
      found = file;
    }
    if (!found.empty()) return found;
  }
  return "";
}

std::string tokenizer_beside(const std::string& model_folder) {
  if (base::file_exists(model_folder + "/tokenizer.json")) {
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) check_model_file(model_folder, name);
    return model_folder;
  }
  std::string path;
  const nlohmann::json manifest = manifest_beside(model_folder, &path);
  if (manifest.is_null()) return "";
  const nlohmann::json& extra = base::json_object(manifest, "extra", path);
  return extra.contains("tokenizer") ? base::json_string(extra, "tokenizer", path) : "";
}

void check_model_file(const std::string& model_folder, const std::string& name) {
  const std::string file = model_folder + "/" + name;
  std::string path;
  const nlohmann::json manifest = manifest_beside(model_folder, &path);
  if (!manifest.contains("files") || !base::file_exists(file)) return;
  for (const nlohmann::json& listed : base::json_array(manifest, "files", path)) {
    if (base::json_string(listed, "file", path) != "model/" + name) continue;
    if (base::hash_file(file) == base::json_string(listed, "xxh3", path)) return;
    throw base::DataError(base::say("'{}' is not the file that was saved with the checkpoint: its hash is not that of the manifest; copy it from another checkpoint or host of the run, or remove it and name a tokenizer with --data.tokenizer", file));
  }
}

}  // namespace troika::config
