#include "weights/folder_writer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
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

}  // namespace troika::weights
