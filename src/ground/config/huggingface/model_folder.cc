#include "config/huggingface/model_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "config/huggingface/checkpoint_folder.h"
#include "config/huggingface/hugging_face_config.h"
#include "config/huggingface/other_than_folder.h"

namespace troika::config {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{16} << 20;

bool has_config(const std::string& folder) { return base::file_exists(folder + "/config.json"); }

std::string base_of(const std::string& path, const std::string& given) {
  if (!given.empty()) refuse_other_than_folder(given);
  const std::string named = given.empty() ? base_named_by(path) : given;
  if (!base::directory_exists(named)) throw without_base(path, named);
  return base::without_end_slashes(named);
}

// `path` when it is no adapter's folder, else the model below it. `on_adapter(folder)` for each on the way.
template <class OnAdapter>
std::string without_adapters(std::string path, std::string base, const OnAdapter& on_adapter) {
  for (int count = 0; is_adapter_folder(path); ++count) {
    if (count == most_adapters) throw too_many_adapters(path);
    on_adapter(path);
    path = base_of(path, base);
    base.clear();
  }
  return path;
}

}  // namespace

bool is_adapter_folder(const std::string& path) { return base::file_exists(path + "/" + adapter_config_name); }

std::string base_named_by(const std::string& path) {
  const std::string file = path + "/" + adapter_config_name;
  const nlohmann::json root = base::parse_json(base::read_file(file), file);
  if (!root.is_object()) throw base::DataError(base::say("{} is not a JSON object", file));
  const auto place = root.find("base_model_name_or_path");
  return place != root.end() && place->is_string() ? place->get<std::string>() : "";
}

base::ConfigError without_base(const std::string& path, const std::string& named) {
  if (named.empty()) return base::ConfigError(base::say("the adapter '{}' does not name its base model; give that model's folder with --base PATH", path));
  return base::ConfigError(base::say("the base model of the adapter '{}' is '{}', which is not a folder here; give that model's folder with --base PATH", path, named));
}

base::DataError too_many_adapters(const std::string& path) {
  return base::DataError(base::say("'{}' is an adapter on an adapter, more than {} times over; does one name itself?", path, most_adapters));
}

std::string tokenizer_of(const std::string& path, const std::string& base) {
  std::string own;
  const auto remember = [&](const std::string& adapter) {
    if (own.empty() && base::file_exists(adapter + "/tokenizer.json")) own = adapter;
  };
  const std::string model = without_adapters(base::without_end_slashes(path), base, remember);
  return own.empty() ? tokenizer_beside(model_folder_of(model)) : own;
}

std::string model_folder_of(const std::string& given, const std::string& base) {
  const std::string path = without_adapters(base::without_end_slashes(given), base, [](const std::string&) {});
  if (path.empty()) throw base::DataError(base::say("the path of a model is empty"));
  refuse_other_than_folder(path);
  if (has_config(path)) return path;
  if (has_config(path + "/model")) return path + "/model";
  for (const std::string& checkpoints : {path + "/checkpoints", path}) {
    const std::string folder = newest_checkpoint_model(checkpoints);
    if (!folder.empty()) return folder;
  }
  if (!base::directory_exists(path)) throw base::DataError(base::say("'{}' is not a folder here: nothing is downloaded, so copy the model's folder", path));
  throw base::DataError(base::say("'{}' holds no model: neither config.json (a model's folder), nor model/config.json (a checkpoint), nor checkpoints/step-NNNNNNNN/model/config.json (a run)", path));
}

ModelSettings read_hugging_face_config(const std::string& path, const std::string& base) {
  const std::string file = model_folder_of(path, base) + "/config.json";
  const std::int64_t bytes = base::file_size(file);
  if (bytes > most_bytes) throw base::DataError(base::say("{} has {} bytes; at most {} are read", file, bytes, most_bytes));
  ModelSettings model = parse_hugging_face_config(base::read_file(file), file);
  model.path = path;
  return model;
}

}  // namespace troika::config
