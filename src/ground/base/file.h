// Files: whole reads, atomic writes, read-only maps. Every failure is a DataError that names the path and the cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::base {

std::string read_file(const std::string& path);

// Writes to a temporary name beside `path`, syncs and renames: a reader sees the old content or the new, never a part.
// Several writers of one path may run at once (the last one wins); a failed write leaves no temporary file behind.
void write_file_atomic(const std::string& path, std::string_view content);

// Appends and flushes to the kernel in one write call.
void append_file(const std::string& path, std::string_view content);

void make_directories(const std::string& path);
bool file_exists(const std::string& path);  // a regular file
bool directory_exists(const std::string& path);
std::int64_t file_size(const std::string& path);
// Both name one regular file, be it by another path, a link or a hard link. False where one of them is absent.
bool same_regular_file(const std::string& a, const std::string& b);
void remove_tree(const std::string& path);                         // no error when absent
void rename_path(const std::string& from, const std::string& to);  // atomic on one file system
// Atomic: at no time is either absent. False, and nothing done, where the file system cannot.
bool exchange_paths(const std::string& a, const std::string& b);
void sync_directory(const std::string& path);  // which names it holds; nothing on file systems that do not
// The same without waiting for the disk: after a crash of the machine `to` may be the old file, the new one or damaged.
void replace_file(const std::string& from, const std::string& to);

std::string without_end_slashes(const std::string& path);  // "a//" -> "a"; "/" stays

// Names (not paths) inside a directory, sorted by byte value; empty when the directory is absent.
std::vector<std::string> list_directory(const std::string& path);

// xxHash3 (64 bit) of bytes and of a whole file, as 16 hex digits.
std::string hash_bytes(std::string_view bytes);
std::string hash_file(const std::string& path);

// A file mapped read-only for the lifetime of the object. Movable, not copyable. Threads: const use is safe.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  // The file of an open descriptor, which the caller may close afterwards; `name` is for messages.
  MappedFile(int descriptor, const std::string& name);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // Hints; offsets in bytes, any alignment, inside the file. The content stays readable.
  void will_need(std::int64_t offset, std::int64_t bytes) const;  // begins to read it from the disk
  void drop(std::int64_t offset, std::int64_t bytes) const;       // its pages leave the process's memory

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace troika::base
