#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "data/shard_format.h"
#include "data/shards.h"

namespace troika::data {

// XXH3 over a stream, as base::hash_bytes gives it for the whole.
class ShardWriter::Hasher {
 public:
  Hasher() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
  ~Hasher() { XXH3_freeState(state_); }
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(const void* bytes, std::size_t size) { XXH3_64bits_update(state_, bytes, size); }
  std::string hex() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_)); }

 private:
  XXH3_state_t* state_;
};

[[noreturn]] static void fail(const char* action, const std::string& path) {
  throw base::DataError(
      fmt::format("cannot {} '{}': {}; free some space or choose another folder", action, path, std::strerror(errno)));
}

static void write_all(int descriptor, const char* bytes, std::size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path);
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

ShardWriter::ShardWriter(const std::string& path, std::int64_t vocab_size, const std::string& tokenizer_fingerprint)
    : path_(path),
      temporary_(fmt::format("{}.tmp.{}", path, ::getpid())),
      descriptor_(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
      hasher_(std::make_unique<Hasher>()) {
  if (descriptor_ < 0) fail("create", temporary_);
  header_.vocab_size = vocab_size;
  header_.bytes_per_token = vocab_size <= 65536 ? 2 : 4;
  header_.tokenizer_fingerprint = tokenizer_fingerprint;
  header_.payload_hash = std::string(16, '0');
  if (::lseek(descriptor_, shard_header_bytes, SEEK_SET) < 0) fail("write", temporary_);  // the header comes last
}

ShardWriter::~ShardWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void ShardWriter::write(const void* bytes, std::size_t size) {
  hasher_->add(bytes, size);
  write_all(descriptor_, static_cast<const char*>(bytes), size, temporary_);
}

void ShardWriter::append(const std::vector<std::int32_t>& ids) {
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= header_.vocab_size) {
      throw base::BugError(
          fmt::format("the tokenizer gave the id {}, but its vocabulary has {}", id, header_.vocab_size));
    }
  }
  if (header_.bytes_per_token == 2) {
    const std::vector<std::uint16_t> narrow(ids.begin(), ids.end());
    write(narrow.data(), 2 * narrow.size());
  } else {
    write(ids.data(), 4 * ids.size());
  }
  header_.tokens += static_cast<std::int64_t>(ids.size());
}

void ShardWriter::end_document() {
  const auto end = static_cast<std::uint64_t>(header_.tokens);
  if (end > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(end);
}

void ShardWriter::write_at_start(const std::string& bytes) {
  if (::pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail("write", temporary_);
}

void ShardWriter::close_file() {
  if (::fsync(descriptor_) != 0) fail("sync", temporary_);
  ::close(std::exchange(descriptor_, -1));
}

ShardHeader ShardWriter::finish() {
  const auto end = static_cast<std::uint64_t>(header_.tokens);
  if (end != (ends_.empty() ? 0 : ends_.back())) throw base::BugError("a shard was finished inside a document");
  const std::string padding(
      padded_token_bytes(header_) - static_cast<std::size_t>(header_.tokens * header_.bytes_per_token), '\0');
  write(padding.data(), padding.size());
  write(ends_.data(), 8 * ends_.size());
  header_.documents = static_cast<std::int64_t>(ends_.size());
  header_.payload_hash = hasher_->hex();
  write_at_start(encode_shard_header(header_));
  close_file();
  base::rename_path(temporary_, path_);
  return header_;
}

}  // namespace troika::data
