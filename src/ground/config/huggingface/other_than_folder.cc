#include "config/huggingface/model_folder.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::config {
namespace {

bool has_ending_of(const std::string& path, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    return path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
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
  if (has_ending_of(path, gguf_ending) || first_bytes(path, 4) == "GGUF") return base::say("'{}' is a GGUF file, which is not supported; give the model's folder with config.json and *.safetensors: transformers creates one with from_pretrained(DIR, gguf_file=NAME) and save_pretrained(FOLDER)", path);
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
  return base::say("'{}' has a GGUF file ('{}'), which is not supported, and no config.json; give the model's folder with config.json and *.safetensors: transformers creates one with from_pretrained(DIR, gguf_file=NAME) and save_pretrained(FOLDER)", path, *gguf);
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
  if (auto text = model_file(path)) return text;
  return base::say("'{}' is a file; give the folder with config.json and the weights", path);
}

std::optional<base::Text> other_than_settings(const std::string& path) {
  constexpr const char* of_models[] = {"config.json", "adapter_config.json", "generation_config.json", "tokenizer.json",
                                       "model.safetensors.index.json"};
  const bool of_model = std::find(std::begin(of_models), std::end(of_models), last_part(path)) != std::end(of_models);
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
