#include "checkpoint/safetensors_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/cause.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/stream_hash.h"
#include "base/descriptor.h"
#include "shape/region.h"

namespace troika::checkpoint {

using base::BugError;
using base::DataError;
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
    : path_(path), file_(path) {
  const std::string text = header_text(entries, metadata, &missing_bytes_);
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 255);
  file_.write({length, sizeof length});
  file_.write(text);
}

void SafetensorsWriter::write(const void* data, std::int64_t bytes) {
  if (bytes > missing_bytes_)
    throw BugError(fmt::format("'{}' was given {} bytes more than announced", path_, bytes - missing_bytes_));
  if (bytes == 0) return;
  missing_bytes_ -= bytes;
  file_.write({static_cast<const char*>(data), static_cast<std::size_t>(bytes)});
}

WrittenFile SafetensorsWriter::finish() {
  if (missing_bytes_ != 0)
    throw BugError(fmt::format("'{}' was given {} bytes less than announced", path_, missing_bytes_));
  return file_.finish();
}

static constexpr std::size_t buffer_bytes = 1 << 20;

struct NewFile::Output {
  explicit Output(std::string name) : temporary(std::move(name)) {
    buffer.reserve(buffer_bytes);
    descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor < 0) fail(base::Phrase("cannot create '{}': {}"), errno);
  }
  ~Output() {
    if (descriptor >= 0) ::close(descriptor);
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // `what`: "cannot write '{}': {}".
  [[noreturn]] void fail(base::Phrase what, int cause) const {
    throw DataError(base::say(what, temporary, base::system_cause(cause)),
                    base::cause_of_errno(cause));
  }

  void write_out(const char* data, std::size_t size) {
    hash.add(data, size);
    total += static_cast<std::int64_t>(size);
    if (const int cause = base::write_whole(descriptor, {data, size}); cause != 0) fail(base::Phrase("cannot write '{}': {}"), cause);
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

  // The hash of what the disk returns.
  std::string read_back() {
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    hash.restart();
    buffer.resize(buffer_bytes);
    for (std::int64_t at = 0; at < total;) {
      const ssize_t got = ::pread(descriptor, buffer.data(), buffer.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(base::Phrase("cannot read back '{}': {}"), errno);
      if (got == 0) break;
      hash.add(buffer.data(), static_cast<std::size_t>(got));
      at += got;
    }
    buffer.clear();
    return hash.hex();
  }

  std::string temporary;
  base::StreamHash hash;
  int descriptor = -1;
  std::string buffer;
  std::int64_t total = 0;
};

NewFile::NewFile(const std::string& path)
    : path_(path), output_(std::make_unique<Output>(fmt::format("{}.tmp.{}", path, ::getpid()))) {}

NewFile::~NewFile() = default;

void NewFile::write(std::string_view bytes) { output_->append(bytes.data(), bytes.size()); }

WrittenFile NewFile::finish() {
  output_->flush();
  if (const int cause = base::sync_whole(output_->descriptor); cause != 0) output_->fail(base::Phrase("cannot sync '{}': {}"), cause);
  const WrittenFile written{output_->total, output_->hash.hex()};
  if (output_->read_back() != written.hash) {
    throw DataError(
        base::say("'{}' reads back differently from what was written: this host's disk or memory is faulty",
                    output_->temporary), base::Cause::changed_bits);
  }
  if (::close(std::exchange(output_->descriptor, -1)) != 0) output_->fail(base::Phrase("cannot close '{}': {}"), errno);
  base::rename_path(output_->temporary, path_);
  output_->temporary.clear();
  return written;
}

}  // namespace troika::checkpoint
