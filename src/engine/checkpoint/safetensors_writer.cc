#include "checkpoint/safetensors_writer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "shape/region.h"

namespace troika::checkpoint {
using base::BugError;
using nlohmann::json;

static std::string header_text(const std::vector<TensorEntry>& entries,
                               const std::map<std::string, std::string>& metadata, std::int64_t* data_bytes) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t end = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.name.empty() || header.contains(entry.name))
      throw BugError(fmt::format("a safetensors file cannot hold two tensors named '{}'", entry.name));
    const std::int64_t begin = std::exchange(end, end + shape::element_count(entry.shape) * entry.dtype.bytes());
    header[entry.name] = {
        {"dtype", entry.dtype.name()}, {"shape", entry.shape}, {"data_offsets", {begin, end}}};
  }
  *data_bytes = end;
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data begins on a multiple of 8
  return text;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<TensorEntry> entries,
                                     const std::map<std::string, std::string>& metadata)
    : path_(path) {
  const std::string text = header_text(entries, metadata, &missing_bytes_);
  file_ = std::make_unique<NewFile>(path);
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 255);
  file_->write({length, sizeof length});
  file_->write(text);
}

SafetensorsWriter::~SafetensorsWriter() = default;

void SafetensorsWriter::write(const void* data, std::int64_t bytes) {
  if (bytes > missing_bytes_)
    throw BugError(fmt::format("'{}' was given {} bytes more than announced", path_, bytes - missing_bytes_));
  if (bytes == 0) return;
  missing_bytes_ -= bytes;
  file_->write({static_cast<const char*>(data), static_cast<std::size_t>(bytes)});
}

WrittenFile SafetensorsWriter::finish() {
  if (missing_bytes_ != 0)
    throw BugError(fmt::format("'{}' was given {} bytes less than announced", path_, missing_bytes_));
  return file_->finish();
}

}  // namespace troika::checkpoint
