#include "checkpoint/safetensors_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "shape/region.h"

namespace troika::checkpoint {
using base::BugError;
using base::DataError;
using nlohmann::json;

static constexpr std::size_t buffer_bytes = 1 << 20;

// A temporary file that is hashed while it is written.
struct SafetensorsWriter::Output {
  explicit Output(std::string name) : temporary(std::move(name)), state(XXH3_createState()) {
    XXH3_64bits_reset(state);
    buffer.reserve(buffer_bytes);
    descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) {
      XXH3_freeState(state);
      fail("create");
    }
  }
  ~Output() {
    if (descriptor >= 0) ::close(descriptor);
    if (!temporary.empty()) ::unlink(temporary.c_str());
    XXH3_freeState(state);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  [[noreturn]] void fail(const char* action) const {
    throw DataError(fmt::format("cannot {} '{}': {}", action, temporary, std::strerror(errno)));
  }

  void write_out(const char* data, std::size_t size) {
    XXH3_64bits_update(state, data, size);
    total += static_cast<std::int64_t>(size);
    while (size > 0) {
      const ssize_t done = ::write(descriptor, data, size);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail("write");
      data += done;
      size -= static_cast<std::size_t>(done);
    }
  }

  void flush() {
    write_out(buffer.data(), buffer.size());
    buffer.clear();
  }

  void append(const char* data, std::size_t size) {
    if (buffer.size() + size > buffer_bytes) flush();
    if (size >= buffer_bytes) {
      write_out(data, size);
    } else {
      buffer.append(data, size);
    }
  }

  std::string temporary;
  XXH3_state_t* state;
  int descriptor = -1;
  std::string buffer;
  std::int64_t total = 0;
};

static std::string header_text(const std::vector<TensorEntry>& entries,
                               const std::map<std::string, std::string>& metadata, std::int64_t* data_bytes) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t end = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.name.empty() || header.contains(entry.name))
      throw BugError(fmt::format("a safetensors file cannot hold two tensors named '{}'", entry.name));
    const std::int64_t begin = std::exchange(end, end + shape::element_count(entry.shape) * bytes_of(entry.dtype));
    header[entry.name] = {
        {"dtype", safetensors_name(entry.dtype)}, {"shape", entry.shape}, {"data_offsets", {begin, end}}};
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
  output_ = std::make_unique<Output>(fmt::format("{}.tmp.{}", path, ::getpid()));
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 255);
  output_->append(length, sizeof length);
  output_->append(text.data(), text.size());
}

SafetensorsWriter::~SafetensorsWriter() = default;

void SafetensorsWriter::write(const void* data, std::int64_t bytes) {
  if (bytes > missing_bytes_)
    throw BugError(fmt::format("'{}' was given {} bytes more than announced", path_, bytes - missing_bytes_));
  if (bytes == 0) return;
  missing_bytes_ -= bytes;
  output_->append(static_cast<const char*>(data), static_cast<std::size_t>(bytes));
}

WrittenFile SafetensorsWriter::finish() {
  if (missing_bytes_ != 0)
    throw BugError(fmt::format("'{}' was given {} bytes less than announced", path_, missing_bytes_));
  output_->flush();
  if (::fsync(output_->descriptor) != 0) output_->fail("sync");
  if (::close(std::exchange(output_->descriptor, -1)) != 0) output_->fail("close");
  base::rename_path(output_->temporary, path_);
  output_->temporary.clear();
  return {output_->total, fmt::format("{:016x}", XXH3_64bits_digest(output_->state))};
}

}  // namespace troika::checkpoint
