#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "datasets/sequence_file.h"
#include "datasets/sequence_format.h"

namespace troika::datasets {

// A file under a temporary name, hashed as it is written.
struct SequenceWriter::Output {
  explicit Output(const std::string& path)
      : name(fmt::format("{}.tmp.{}", path, ::getpid())),
        descriptor(::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
        hash(::XXH3_createState()) {
    ::XXH3_64bits_reset(hash);
    if (descriptor < 0) fail("create");
  }
  ~Output() {
    ::XXH3_freeState(hash);
    if (descriptor < 0) return;
    ::close(descriptor);
    ::unlink(name.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void add(std::string_view bytes) {
    ::XXH3_64bits_update(hash, bytes.data(), bytes.size());
    buffer += bytes;
    if (buffer.size() >= std::size_t{1} << 20) flush();
  }
  void flush() {
    for (std::string_view left = buffer; !left.empty();) {
      const ssize_t written = ::write(descriptor, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write");
      left.remove_prefix(static_cast<std::size_t>(written));
    }
    buffer.clear();
  }
  void close_with(const std::string& header) {
    flush();
    if (::pwrite(descriptor, header.data(), header.size(), 0) != static_cast<ssize_t>(header.size())) fail("write");
    if (::fsync(descriptor) != 0) fail("sync");
    ::close(std::exchange(descriptor, -1));
  }
  [[noreturn]] void fail(const char* action) const {
    throw base::DataError(fmt::format("cannot {} '{}': {}; free some space or choose another folder", action, name,
                                      std::strerror(errno)));
  }

  const std::string name;
  int descriptor;
  XXH3_state_t* hash;
  std::string buffer;
};

SequenceWriter::SequenceWriter(const std::string& path, std::int64_t vocab_size)
    : path_(path), output_(std::make_unique<Output>(path)) {
  header_.vocab_size = vocab_size;
  header_.bytes_per_id = vocab_size <= 65536 ? 2 : 4;
  if (::lseek(output_->descriptor, sequence_header_bytes, SEEK_SET) < 0)
    output_->fail("write");  // the header comes last
}

SequenceWriter::~SequenceWriter() = default;

void SequenceWriter::append(const std::int32_t* ids, const std::uint8_t* has_loss, std::int64_t length) {
  const auto width = static_cast<std::size_t>(header_.bytes_per_id), count = static_cast<std::size_t>(length);
  std::string bytes(static_cast<std::size_t>(bytes_of(length, header_.bytes_per_id)), '\0');
  for (std::size_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || ids[i] >= header_.vocab_size)
      throw base::BugError(
          fmt::format("the tokenizer gave the id {}, but its vocabulary has {}", ids[i], header_.vocab_size));
    std::memcpy(&bytes[i * width], &ids[i], width);
    if (has_loss[i] != 0) bytes[count * width + i / 8] |= static_cast<char>(1 << (i % 8));
    header_.counts.loss_tokens += has_loss[i] != 0 ? 1 : 0;
  }
  output_->add(bytes);
  header_.payload_bytes += static_cast<std::int64_t>(bytes.size());
  ends_.push_back(static_cast<std::uint64_t>(header_.payload_bytes));
  ++header_.counts.sequences;
  header_.counts.tokens += length;
}

void SequenceWriter::finish(const SequenceCounts& counts) {
  output_->add({reinterpret_cast<const char*>(ends_.data()), 8 * ends_.size()});
  header_.payload_bytes += static_cast<std::int64_t>(8 * ends_.size());
  header_.payload_hash = fmt::format("{:016x}", ::XXH3_64bits_digest(output_->hash));
  header_.counts.records = counts.records;
  header_.counts.without_answer = counts.without_answer;
  header_.counts.duplicates = counts.duplicates;
  output_->close_with(encode_header(header_));
  base::rename_path(output_->name, path_);
}

}  // namespace troika::datasets
