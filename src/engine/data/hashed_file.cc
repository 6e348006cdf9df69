#include "data/hashed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/descriptor.h"
#include "data/made_once.h"

namespace troika::data {

HashedFile::HashedFile(std::string path, std::size_t header_bytes)
    : path_(std::move(path)),
      temporary_(fmt::format("{}.tmp.{}", path_, ::getpid())),
      descriptor_(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) fail_for(errno, base::Phrase("cannot create '{}': {}"));
  if (::lseek(descriptor_, static_cast<off_t>(header_bytes), SEEK_SET) < 0)
    fail_for(errno, base::Phrase("cannot write '{}': {}"));
}

HashedFile::~HashedFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void HashedFile::add(std::string_view bytes) {
  hash_.add(bytes.data(), bytes.size());
  buffer_ += bytes;
  if (buffer_.size() >= std::size_t{1} << 20) flush();
}

void HashedFile::flush() {
  fail_for(base::write_whole(descriptor_, buffer_), base::Phrase("cannot write '{}': {}"));
  buffer_.clear();
}

void HashedFile::close_with(const std::string& header) {
  flush();
  fail_for(base::write_whole_at(descriptor_, header, 0), base::Phrase("cannot write '{}': {}"));
  fail_for(base::sync_whole(descriptor_), base::Phrase("cannot sync '{}': {}"));
  ::close(std::exchange(descriptor_, -1));
}

void HashedFile::fail_for(int cause, base::Phrase what) const {
  if (cause != 0) throw DiskError(base::say(what, temporary_, base::system_cause(cause)));
}

std::string hash_and_drop(const base::MappedFile& file, std::size_t first, std::size_t behind) {
  constexpr std::size_t most_read_bytes = 4 << 20;
  base::StreamHash hash;
  const std::size_t end = std::min(behind, file.size());
  for (std::size_t at = first; at < end;) {
    const std::size_t bytes = std::min(most_read_bytes, end - at);
    hash.add(file.data() + at, bytes);
    file.drop(static_cast<std::int64_t>(at), static_cast<std::int64_t>(bytes));
    at += bytes;
  }
  return hash.hex();
}

}  // namespace troika::data
