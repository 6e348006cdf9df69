#include "config/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "config/adapter_folder.h"

namespace troika::config {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{16} << 20;

bool has_config(const std::string& folder) { return base::file_exists(folder + "/config.json"); }

// The step of a complete checkpoint's folder name, "step-00000100"; -1 for other names.
std::int64_t step_of(const std::string& name) {
  std::int64_t step = -1;
  if (name.rfind("step-", 0) != 0 || !base::parse_int(name.substr(5), &step)) return -1;
  return fmt::format("step-{:08}", step) == name ? step : -1;
}

// "" when there is none.
std::string newest_model_in(const std::string& checkpoints) {
  std::int64_t newest = -1;
  std::string folder;
  for (const std::string& name : base::list_directory(checkpoints)) {
    const std::string model = checkpoints + "/" + name + "/model";
    if (step_of(name) <= newest || !has_config(model)) continue;
    newest = step_of(name);
    folder = model;
  }
  return folder;
}

std::string without_slashes_at_end(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string base_of(const std::string& path, const std::string& given) {
  const std::string named = given.empty() ? base_named_by(path) : given;
  if (!base::directory_exists(named)) throw without_base(path, named);
  return without_slashes_at_end(named);
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

std::string tokenizer_beside(const std::string& folder) {
  if (base::file_exists(folder + "/tokenizer.json")) return folder;
  const std::size_t slash = folder.rfind('/') + 1;
  const std::string manifest = folder.substr(0, slash) + "manifest.json";
  if (folder.substr(slash) != "model" || !base::file_exists(manifest)) return "";
  const nlohmann::json root = base::parse_json(base::read_file(manifest), manifest);
  const nlohmann::json& extra = base::json_object(root, "extra", manifest);
  return extra.contains("tokenizer") ? base::json_string(extra, "tokenizer", manifest) : "";
}

}  // namespace

std::string tokenizer_of(const std::string& path, const std::string& base) {
  std::string own;
  const auto remember = [&](const std::string& adapter) {
    if (own.empty() && base::file_exists(adapter + "/tokenizer.json")) own = adapter;
  };
  const std::string model = without_adapters(without_slashes_at_end(path), base, remember);
  return own.empty() ? tokenizer_beside(model_folder_of(model)) : own;
}

std::string model_folder_of(const std::string& given, const std::string& base) {
  const std::string path = without_adapters(without_slashes_at_end(given), base, [](const std::string&) {});
  if (path.empty()) throw base::DataError("the path of a model is empty");
  if (has_config(path)) return path;
  if (has_config(path + "/model")) return path + "/model";
  for (const std::string& checkpoints : {path + "/checkpoints", path}) {
    const std::string folder = newest_model_in(checkpoints);
    if (!folder.empty()) return folder;
  }
  if (!base::directory_exists(path))
    throw base::DataError(
        fmt::format("'{}' is not a folder here: nothing is downloaded, so copy the model's folder", path));
  throw base::DataError(fmt::format(
      "'{}' holds no model: neither config.json (a model's folder), nor model/config.json (a checkpoint), nor "
      "checkpoints/step-NNNNNNNN/model/config.json (a run)",
      path));
}

ModelSettings read_model_config(const std::string& path, const std::string& base) {
  const std::string file = model_folder_of(path, base) + "/config.json";
  const std::int64_t bytes = base::file_size(file);
  if (bytes > most_bytes)
    throw base::DataError(fmt::format("{} has {} bytes; at most {} are read", file, bytes, most_bytes));
  ModelSettings model = parse_model_config(base::read_file(file), file);
  model.path = path;
  return model;
}

}  // namespace troika::config
