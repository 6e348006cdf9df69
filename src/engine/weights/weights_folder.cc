#include "weights/weights_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "config/huggingface/model_folder.h"
#include "data/input_text.h"
#include "gguf/architecture.h"
#include "gguf/model_files.h"

namespace troika::weights {
using base::DataError;
using nlohmann::json;

// A name, never a path: what a folder names must lie in it.
static bool is_weights_file_name(const std::string& name) {
  const bool plain = std::none_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '/' || c == '\\' || c == ':' || byte < 32 || byte == 127;
  });
  return plain && name.front() != '.' && base::ends_with(name, ".safetensors");
}

std::map<std::string, std::string> parse_weights_index(std::string_view text, const std::string& origin) {
  const json object = base::parse_json(text, origin);
  if (!object.is_object()) throw DataError(base::say("'{}' is not a JSON object", origin));
  std::map<std::string, std::string> files;
  for (const auto& item : base::json_object(object, "weight_map", origin).items()) {
    const std::string file = item.value().is_string() ? item.value().get<std::string>() : "";
    if (file.empty() || !is_weights_file_name(file)) {
      throw DataError(
          base::say("'{}' places tensor {} in {}, but must name a .safetensors file in the same folder",
                    origin, json(item.key()).dump(), item.value().dump()));
    }
    files[item.key()] = file;
  }
  if (files.empty()) throw DataError(base::say("'{}' names no tensor", origin));
  return files;
}

bool has_weights(const std::string& path) {
  return base::file_exists(path + "/" + weights_file_name) || base::file_exists(path + "/" + weights_index_name);
}

static DataError no_weights(const std::string& path) {
  if (!base::directory_exists(path)) return DataError(base::say("there is no model folder '{}'; check the path", path));
  const bool pickled =
      base::file_exists(path + "/pytorch_model.bin") || base::file_exists(path + "/pytorch_model.bin.index.json");
  if (!pickled)
    return DataError(base::say(
        "the model folder '{}' has neither {} nor {}; complete the download, or name the folder with these files", path,
        weights_file_name, weights_index_name));
  return DataError(base::say(
      "the model folder '{}' has neither {} nor {}; pytorch_model.bin can run code and is not read: convert it to safetensors, or use the safetensors files of the same model",
      path, weights_file_name, weights_index_name));
}

static void refuse_missing_files(const std::string& path, const std::set<std::string>& names) {
  std::vector<base::Text> missing;
  for (const std::string& name : names)
    if (!base::file_exists(path + "/" + name)) missing.push_back(base::verbatim(name));
  if (missing.empty()) return;
  throw DataError(base::say("the model folder '{}' lacks {} of the {} files that {} names; complete the download:{}",
                            path, missing.size(), names.size(), weights_index_name, listed(missing)));
}

static void refuse_misplaced(const std::string& path, const std::map<std::string, std::string>& index,
                             const std::map<std::string, std::string>& file_of) {
  std::vector<base::Text> faults;
  for (const auto& [tensor, file] : index) {
    const auto place = file_of.find(tensor);
    if (place == file_of.end()) {
      faults.push_back(base::say("{}: not in {}, nor in any other file", tensor, file));
    } else if (place->second != file) {
      faults.push_back(base::say("{}: in {}, not in {}", tensor, place->second, file));
    }
  }
  if (faults.empty()) return;
  throw DataError(base::say("'{}/{}' does not match the files next to it, which may be from another model:{}", path,
                            weights_index_name, listed(faults)));
}

void WeightsFolder::add_file(const std::string& name) {
  config::refuse_lfs_pointer(path_ + "/" + name);
  files_.push_back(std::make_unique<checkpoint::SafetensorsFile>(path_ + "/" + name));
  const checkpoint::SafetensorsFile& file = *files_.back();
  for (const auto& [key, value] : file.header().metadata) {
    if (key.rfind(checkpoint::region_prefix, 0) != 0) continue;
    throw DataError(
        base::say("'{}/{}' has parts of tensors, like a checkpoint of several ranks; name the checkpoint's folder (step-...) instead of its model/",
                  path_, name));
  }
  for (const checkpoint::TensorEntry& entry : file.header().entries) {
    const auto [place, fresh] = file_of_.emplace(entry.name, name);
    if (!fresh) {
      throw DataError(
          base::say("the model folder '{}' has tensor '{}' twice, in {} and {}; remove the files of the other "
                    "model",
                    path_, entry.name, place->second, name));
    }
    tensors_[entry.name] = {&file.mapping(), file.path(), entry.dtype, entry.shape, entry.begin, entry.bytes};
  }
}

// Two exports into one folder leave both; the single file is taken, as transformers does.
void WeightsFolder::note_index() {
  const std::string index = path_ + "/" + weights_index_name;
  if (!base::file_exists(index)) return;
  const std::map<std::string, std::string> files = parse_weights_index(base::read_file(index), index);
  const auto other =
      std::find_if(files.begin(), files.end(), [](const auto& placed) { return placed.second != weights_file_name; });
  if (other == files.end()) return;
  notes_.push_back(base::say(
      "'{}' has {} and {}, which names other files such as {}: the weights in {} are used, as in transformers; remove the outdated one",
      path_, weights_file_name, weights_index_name, other->second, weights_file_name));
}

void WeightsFolder::add_gguf() {
  gguf_ = std::make_unique<gguf::File>(path_);
  for (const gguf::PublishedTensor& one : gguf::published_tensors(gguf_->header())) {
    const gguf::Tensor& tensor = *one.tensor;
    const bool has_blocks = !tensor.type->dtype;
    tensors_[one.name] = {&gguf_->mapping(), path_,        tensor.type->dtype.value_or(base::Dtype::fp32),
                          one.shape,         tensor.begin, tensor.bytes,
                          has_blocks ? tensor.type : nullptr, one.arrangement};
  }
}

WeightsFolder::WeightsFolder(const std::string& path) : path_(path) {
  if (gguf::is_gguf(path)) {
    add_gguf();
    return;
  }
  if (!has_weights(path)) throw no_weights(path);
  if (base::file_exists(path + "/" + weights_file_name)) {
    add_file(weights_file_name);
    note_index();
    return;
  }
  const std::string index_path = path + "/" + weights_index_name;
  const auto index = parse_weights_index(base::read_file(index_path), index_path);
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  refuse_missing_files(path, names);
  for (const std::string& name : names) add_file(name);
  refuse_misplaced(path, index, file_of_);
}

std::string WeightsFolder::fingerprint() const {
  constexpr std::int64_t sample_bytes = 64;
  std::string text;
  for (const auto& [name, tensor] : tensors_) {
    const std::int64_t taken = std::min(sample_bytes, tensor.bytes);
    const std::int64_t position = tensor.begin + (tensor.bytes - taken) / 2;
    std::string hash;
    base::while_reading(*tensor.file, [&] {
      hash = base::hash_bytes({reinterpret_cast<const char*>(tensor.at(position)), static_cast<std::size_t>(taken)});
    });
    text += fmt::format("{} {} [{}] {}\n", name, type_name(tensor), fmt::join(tensor.shape, ","), hash);
    tensor.file->drop(position, taken);
  }
  return base::hash_bytes(text);
}

}  // namespace troika::weights
