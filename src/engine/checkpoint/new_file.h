// A file that is hashed while it is written and appears under its name only when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace troika::checkpoint {

struct WrittenFile {
  std::int64_t bytes = 0;
  std::string hash;  // as base::hash_file would give
};

// Until finish(), and after a failure, only a temporary name exists, which the destructor removes. Every failure is a
// DataError naming path and cause. Threads: one. Memory: 1 MiB.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes);

  // Syncs, reads it back from the disk, as far as the system drops what it has in memory, and renames.
  WrittenFile finish();

 private:
  struct Output;
  std::string path_;
  std::unique_ptr<Output> output_;
};

}  // namespace troika::checkpoint
