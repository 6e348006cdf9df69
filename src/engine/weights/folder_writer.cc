#include "weights/folder_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "shape/layout.h"
#include "shape/region.h"
#include "weights/weights_folder.h"

namespace troika::weights {

FolderWriter::FolderWriter(const std::string& folder, std::vector<checkpoint::TensorEntry> tensors,
                           std::int64_t most_bytes)
    : folder_(folder), files_(1) {
  for (checkpoint::TensorEntry& tensor : tensors) {
    const std::int64_t bytes = shape::element_count(tensor.shape) * tensor.dtype.bytes();
    if (!files_.back().tensors.empty() && files_.back().bytes + bytes > most_bytes) files_.emplace_back();
    files_.back().bytes += bytes;
    files_.back().tensors.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < files_.size(); ++i)
    files_[i].name = files_.size() == 1 ? std::string(weights_file_name)
                                        : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files_.size());
  next_file();
}

void FolderWriter::next_file() {
  const File& file = files_[current_];
  missing_bytes_ = file.bytes;
  writer_ = std::make_unique<checkpoint::SafetensorsWriter>(folder_ + "/" + file.name, file.tensors,
                                                            std::map<std::string, std::string>{{"format", "pt"}});
}

void FolderWriter::write(const void* data, std::int64_t bytes) {
  if (missing_bytes_ == 0 && bytes > 0 && current_ + 1 < files_.size()) {
    writer_->finish();
    ++current_;
    next_file();
  }
  writer_->write(data, bytes);
  missing_bytes_ -= bytes;
}

std::string FolderWriter::index_text() const {
  nlohmann::ordered_json index;
  std::int64_t total = 0;
  for (const File& file : files_) total += file.bytes;
  index["metadata"]["total_size"] = total;
  for (const File& file : files_)
    for (const checkpoint::TensorEntry& tensor : file.tensors) index["weight_map"][tensor.name] = file.name;
  return index.dump(2) + "\n";
}

std::vector<std::string> FolderWriter::finish() {
  if (current_ + 1 < files_.size())
    throw base::BugError(fmt::format("'{}' has {} of its {} files", folder_, current_ + 1, files_.size()));
  writer_->finish();
  std::vector<std::string> names;
  for (const File& file : files_) names.push_back(file.name);
  if (files_.size() == 1) return names;
  base::write_file_atomic(folder_ + "/" + weights_index_name, index_text());
  names.push_back(weights_index_name);
  return names;
}

namespace {

using nlohmann::ordered_json;

bool is_token_id(const nlohmann::json& value) {
  return value.is_number_integer() ||
         (value.is_array() &&
          std::all_of(value.begin(), value.end(), [](const nlohmann::json& id) { return id.is_number_integer(); }));
}

// An id, or several that end a text. What is not said stays unsaid.
void copy_token_ids(const std::string& source, ordered_json* to) {
  if (source.empty()) return;
  const nlohmann::json from = base::parse_json(source, base::say("the config.json of the model's source"));
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    if (from.is_object() && from.contains(key) && is_token_id(from[key])) (*to)[key] = from[key];
  }
}

std::string torch_name(const std::string& dtype) {
  using config::Precision;
  const auto precision = config::parse_word<Precision>(dtype);
  if (precision == Precision::fp32) return "float32";
  if (precision == Precision::bf16) return "bfloat16";
  if (precision == Precision::fp16) return "float16";
  throw base::BugError("weights cannot be in '" + dtype + "'");
}

}  // namespace

std::string hugging_face_config(const config::ModelSettings& model, const std::string& dtype,
                                const std::string& source) {
  ordered_json config = ordered_json::parse(shape::hugging_face_config(model));
  config["torch_dtype"] = torch_name(dtype);
  copy_token_ids(source, &config);
  return config.dump(2) + "\n";
}

std::string hugging_face_generation_config(const std::string& source) {
  ordered_json config;
  config["_from_model_config"] = true;
  copy_token_ids(source, &config);
  return config.dump(2) + "\n";
}

}  // namespace troika::weights
