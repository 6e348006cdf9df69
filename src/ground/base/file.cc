#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/cause.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/mapping_guard.h"
#include "base/say.h"
#include "base/stream_hash.h"

namespace troika::base {
namespace fs = std::filesystem;

std::string without_end_slashes(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  return end == std::string::npos ? path : path.substr(0, end + 1);
}

[[noreturn]] static void fail(Phrase what, const std::string& path, int code) {
  throw DataError(say(what, path, system_cause(code)), cause_of_errno(code));
}

static void write_all(int descriptor, std::string_view content, const std::string& path) {
  if (const int cause = write_whole(descriptor, content); cause != 0) fail(Phrase("cannot write '{}': {}"), path, cause);
}

std::string read_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) fail(Phrase("cannot open '{}': {}"), path, errno);
  std::string content;
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::read(file.number(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Phrase("cannot read '{}': {}"), path, errno);
    if (got == 0) return content;
    content.append(buffer, static_cast<std::size_t>(got));
  }
}

void sync_directory(const std::string& path) {
  const Descriptor directory{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!directory) fail(Phrase("cannot open folder '{}': {}"), path, errno);
  if (const int cause = sync_whole(directory.number()); cause != 0) fail(Phrase("cannot sync folder '{}': {}"), path, cause);
}

static void sync_directory_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  sync_directory(parent.empty() ? "." : parent);
}

// A new file beside `path` under a name that no other writer has, be it a thread here or a process on another host.
static Descriptor create_temporary(const std::string& path, std::string* temporary) {
  for (int attempt = 0;; ++attempt) {
    *temporary = fmt::format("{}.tmp.{}.{}", path, ::getpid(), attempt);
    const int descriptor = ::open(temporary->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor >= 0) return Descriptor{descriptor};
    if (errno != EEXIST) fail(Phrase("cannot create '{}': {}"), *temporary, errno);
  }
}

void write_file_atomic(const std::string& path, std::string_view content) {
  std::string temporary;
  const Descriptor file = create_temporary(path, &temporary);
  try {
    write_all(file.number(), content, temporary);
    if (const int cause = sync_whole(file.number()); cause != 0) fail(Phrase("cannot sync '{}': {}"), temporary, cause);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail(Phrase("cannot rename to '{}': {}"), path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_directory_of(path);
}

void append_file(const std::string& path, std::string_view content) {
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
  if (!file) fail(Phrase("cannot open '{}': {}"), path, errno);
  write_all(file.number(), content, path);
}

void make_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(Phrase("cannot create folder '{}': {}"), path, error.value());
}

bool file_exists(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool same_regular_file(const std::string& a, const std::string& b) {
  struct stat one {}, other {};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && S_ISREG(one.st_mode) &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool directory_exists(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::int64_t file_size(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail(Phrase("cannot read the size of '{}': {}"), path, errno);
  return status.st_size;
}

void remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail(Phrase("cannot remove '{}': {}"), path, error.value());
}

void replace_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  throw DataError(say("cannot rename '{}' to '{}': {}", from, to, system_cause(errno)), cause_of_errno(errno));
}

void rename_path(const std::string& from, const std::string& to) {
  replace_file(from, to);
  sync_directory_of(to);
}

bool exchange_paths(const std::string& a, const std::string& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
    throw DataError(say("cannot exchange '{}' with '{}': {}", a, b, system_cause(errno)), cause_of_errno(errno));
  }
  sync_directory_of(b);
  return true;
}

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) fail(Phrase("cannot list '{}': {}"), path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::string hash_bytes(std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

static Descriptor open_to_read(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(Phrase("cannot open '{}': {}"), path, errno);
  return Descriptor{descriptor};
}

std::string hash_file(const std::string& path) {
  const Descriptor file = open_to_read(path);
  StreamHash hash;
  std::vector<char> buffer(1 << 17);  // stays in a cache of the core
  ssize_t got = 0;
  while ((got = ::read(file.number(), buffer.data(), buffer.size())) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Phrase("cannot read '{}': {}"), path, errno);
    hash.add(buffer.data(), static_cast<std::size_t>(got));
  }
  return hash.hex();
}

MappedFile::MappedFile(const std::string& path) : MappedFile(open_to_read(path).number(), path) {}

MappedFile::MappedFile(int descriptor, const std::string& name) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(Phrase("cannot read the size of '{}': {}"), name, errno);
  if (!S_ISREG(status.st_mode)) throw DataError(say("'{}' is not a regular file", name));
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (mapped == MAP_FAILED) fail(Phrase("cannot map '{}': {}"), name, errno);
  data_ = static_cast<const std::byte*>(mapped);
  watch_mapping(*this, name);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget_mapping(*this);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

// The bytes and what is around them up to multiples of `unit`, which is a multiple of the page size.
static void advise(const MappedFile& file, std::int64_t offset, std::int64_t bytes, std::int64_t unit, int advice) {
  if (bytes <= 0) return;
  const std::int64_t begin = offset / unit * unit, end = (offset + bytes + unit - 1) / unit * unit;
  const std::int64_t size = std::min(end, static_cast<std::int64_t>(file.size())) - begin;
  ::madvise(const_cast<std::byte*>(file.data()) + begin, static_cast<std::size_t>(size), advice);
}

void MappedFile::will_need(std::int64_t offset, std::int64_t bytes) const {
  advise(*this, offset, bytes, ::sysconf(_SC_PAGESIZE), MADV_WILLNEED);
}

// A page fault maps what lies around it as well: since Linux 6.18 all that the page cache holds in one piece, which is at most
// a large page on the usual machines.
void MappedFile::drop(std::int64_t offset, std::int64_t bytes) const {
  advise(*this, offset, bytes, 2 << 20, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace troika::base
