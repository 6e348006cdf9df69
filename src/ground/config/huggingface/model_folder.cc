#include "config/huggingface/model_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "config/huggingface/hugging_face_config.h"
#include "gguf/model_files.h"

namespace troika::config {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{16} << 20;

bool has_config(const std::string& folder) { return gguf::file_exists(folder + "/config.json"); }

std::string base_of(const std::string& path, const std::string& given) {
  if (!given.empty()) refuse_other_than_folder(given);
  const std::string named = given.empty() ? base_named_by(path) : given;
  if (!gguf::holds_files(named)) throw without_base(path, named);
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
  return base::ConfigError(base::say("the base model of the adapter '{}' is '{}', which is not a local folder; give that model's folder with --base PATH", path, named));
}

base::DataError too_many_adapters(const std::string& path) {
  return base::DataError(base::say("'{}' is an adapter on an adapter, more than {} levels deep; does one name itself?", path, most_adapters));
}

std::string tokenizer_of(const std::string& path, const std::string& base) {
  std::string own;
  const auto remember = [&](const std::string& adapter) {
    if (own.empty() && has_tokenizer(adapter)) own = adapter;
  };
  const std::string model = without_adapters(base::without_end_slashes(path), base, remember);
  return own.empty() ? tokenizer_beside(model_folder_of(model)) : own;
}

std::string model_folder_of(const std::string& given, const std::string& base) {
  const std::string path = without_adapters(base::without_end_slashes(given), base, [](const std::string&) {});
  if (path.empty()) throw base::DataError(base::say("the path of a model is empty"));
  refuse_other_than_folder(path);
  if (gguf::is_gguf(path)) refuse_lfs_pointer(path);
  if (has_config(path)) return path;
  if (has_config(path + "/model")) return path + "/model";
  for (const std::string& checkpoints : {path + "/checkpoints", path}) {
    const std::string folder = newest_checkpoint_model(checkpoints);
    if (!folder.empty()) return folder;
  }
  if (!base::directory_exists(path)) throw base::DataError(base::say("'{}' is not a local folder, and nothing is downloaded: copy the model's folder", path));
  throw base::DataError(base::say("'{}' holds no model: neither config.json (a model's folder), nor model/config.json (a checkpoint), nor checkpoints/step-NNNNNNNN/model/config.json (a run)", path));
}

ModelSettings read_hugging_face_config(const std::string& path, const std::string& base) {
  const std::string file = model_folder_of(path, base) + "/config.json";
  const std::int64_t bytes = gguf::file_size(file);
  if (bytes > most_bytes) throw base::DataError(base::say("{} has {} bytes; the limit is {}", file, bytes, most_bytes));
  ModelSettings model = parse_hugging_face_config(gguf::read_file(file), file);
  model.path = path;
  return model;
}

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

std::string tokenizer_file(const std::string& spec) {
  if (!gguf::holds_files(spec)) return spec;
  const std::string usual = spec + "/tokenizer.json", other = spec + "/tokenizer.model";
  return !gguf::file_exists(usual) && gguf::file_exists(other) ? other : usual;
}

bool has_tokenizer(const std::string& folder) {
  return gguf::holds_files(folder) && gguf::file_exists(tokenizer_file(folder));
}

std::string tokenizer_beside(const std::string& model_folder) {
  if (has_tokenizer(model_folder)) {
    for (const char* name :
         {"tokenizer.json", "tokenizer.model", "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"})
      check_model_file(model_folder, name);
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
    throw base::DataError(base::say("'{}' is not the file saved with the checkpoint: its hash differs from the manifest; copy it from another checkpoint or host of the run, or remove it and name a tokenizer with --data.tokenizer", file));
  }
}

namespace {

constexpr const char* names_of_models[] = {"adapter_config.json",
                                           "adapter_model.bin",
                                           "adapter_model.safetensors",
                                           "config.json",
                                           "manifest.json",
                                           "model.safetensors",
                                           "model.safetensors.index.json",
                                           "pytorch_model.bin",
                                           "pytorch_model.bin.index.json",
                                           "tokenizer.json",
                                           "tokenizer.model",
                                           "tokenizer_config.json"};

}  // namespace

void refuse_out_of_model(const std::string& out) {
  const std::string folder = base::without_end_slashes(out);
  const auto held = std::find_if(std::begin(names_of_models), std::end(names_of_models),
                                 [&](const char* name) { return base::file_exists(folder + "/" + name); });
  if (out.empty() || held == std::end(names_of_models)) return;
  throw base::ConfigError(base::say("--out '{0}' contains {1}, which belongs to a model, an adapter, a tokenizer or a checkpoint: '{2}' would later load that instead of the trained model; give the run its own folder, such as {2}/run", out, *held, folder));
}

namespace {

bool has_ending_of(const std::string& path, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    return path.size() > ending.size() && base::ends_with(path, ending);
  });
}

const std::vector<std::string> pickles{".bin", ".pt", ".pth", ".ckpt", ".pkl"}, gguf_ending{".gguf"},
    safetensors_ending{".safetensors"}, settings_endings{".yaml", ".yml", ".json", ".py"};

std::string first_bytes(const std::string& file, std::size_t count) {
  std::ifstream stream(file, std::ios::binary);
  std::string bytes(count, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return bytes;
}

std::string folder_around(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::optional<base::Text> model_file(const std::string& path) {
  if (has_ending_of(path, safetensors_ending)) return base::say("'{}' is a single weights file; give the folder that contains it and config.json, here '{}'", path, folder_around(path));
  if (has_ending_of(path, pickles)) return base::say("'{}' is a PyTorch file, which can run code and is not read; give a model's folder with config.json and *.safetensors, as written by save_pretrained(FOLDER, safe_serialization=True)", path);
  return std::nullopt;
}

bool is_cache(const std::string& folder) {
  return last_part(folder).rfind("models--", 0) == 0 && base::directory_exists(folder + "/snapshots");
}

// The snapshot that refs/main names, else the only one; "" where neither says.
std::string snapshot_in(const std::string& cache) {
  const std::string main = cache + "/refs/main";
  if (base::file_exists(main)) {
    const std::string named = cache + "/snapshots/" + base::trim(first_bytes(main, 64));
    if (base::directory_exists(named)) return named;
  }
  const std::vector<std::string> names = base::list_directory(cache + "/snapshots");
  return names.size() == 1 ? cache + "/snapshots/" + names.front() : "";
}

std::optional<base::Text> model_directory(const std::string& path) {
  const std::string around = folder_around(path);
  const bool inside = last_part(path) == "snapshots" && is_cache(around);
  if (inside || is_cache(path)) {
    const std::string cache = inside ? around : path, snapshot = snapshot_in(cache);
    return base::say("'{}' belongs to the cache of the Hugging Face Hub; give the model's folder in it, '{}'", path, snapshot.empty() ? cache + "/snapshots/REVISION" : snapshot);
  }
  const std::vector<std::string> names = base::list_directory(path);
  const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const auto gguf = std::find_if(names.begin(), names.end(),
                                 [](const std::string& name) { return has_ending_of(name, gguf_ending); });
  const bool other = has("config.json") || has("adapter_config.json") || has("manifest.json") || has("checkpoints");
  if (gguf == names.end() || other) return std::nullopt;
  return base::say("'{0}' has no config.json, but a GGUF file; give that file, '{0}/{1}'", path, *gguf);
}

bool is_hub_part(const std::string& part) {
  return !part.empty() && part.front() != '.' && std::all_of(part.begin(), part.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::optional<base::Text> absent_model(const std::string& path) {
  for (const char* scheme : {"http://", "https://", "hf://"})
    if (path.rfind(scheme, 0) == 0) return base::say("'{}' is a URL, but nothing is downloaded; download the model (hf download ORG/NAME --local-dir FOLDER) and give its folder", path);
  const std::size_t slash = path.find('/');
  const bool two_parts = slash != std::string::npos && path.find('/', slash + 1) == std::string::npos;
  if (!two_parts || !is_hub_part(path.substr(0, slash)) || !is_hub_part(path.substr(slash + 1))) return std::nullopt;
  if (base::directory_exists(path.substr(0, slash))) return std::nullopt;  // a path of the user's, mistyped
  return base::say("'{0}' is not a local folder and looks like a model's name on the Hugging Face Hub, but nothing is downloaded; on a machine with network access: hf download {0} --local-dir {1}, then give that folder", path, path.substr(slash + 1));
}

}  // namespace

std::optional<base::Text> other_than_folder(const std::string& given) {
  const std::string path = base::without_end_slashes(given);
  if (base::directory_exists(path)) return model_directory(path);
  if (!base::file_exists(path)) return absent_model(path);
  if (gguf::is_gguf(path)) return std::nullopt;
  if (auto text = model_file(path)) return text;
  return base::say("'{}' is a file; give the folder with config.json and the weights", path);
}

std::optional<base::Text> other_than_settings(const std::string& path) {
  constexpr const char* of_models[] = {"config.json", "adapter_config.json", "generation_config.json", "tokenizer.json",
                                       "model.safetensors.index.json"};
  const bool of_model = std::find(std::begin(of_models), std::end(of_models), last_part(path)) != std::end(of_models);
  if (gguf::is_gguf(path)) return base::say("'{0}' is a model, not settings; give it with --model.path {0}", path);
  if (base::file_exists(path)) return of_model ? other_than_folder(path) : model_file(path);
  return has_ending_of(path, settings_endings) ? std::nullopt : absent_model(base::without_end_slashes(path));
}

void refuse_other_than_folder(const std::string& path) {
  if (const auto text = other_than_folder(path)) throw base::DataError(*text);
}

void refuse_lfs_pointer(const std::string& file) {
  const std::string begin = "version https://git-lfs";
  if (first_bytes(file, begin.size()) == begin)
    throw base::DataError(base::say("'{}' is a Git LFS pointer, not the file itself; fetch it with git lfs pull in '{}'", file, folder_around(file)));
}

}  // namespace troika::config
