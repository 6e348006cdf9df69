// Writes a safetensors file front to back: the layout first, then the tensors' bytes in that order. Memory: one 1 MiB
// buffer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.h"

namespace troika::checkpoint {

// A file that is hashed while it is written and appears under its name only when it is complete.
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

// Errors and threads as NewFile's.
class SafetensorsWriter {
 public:
  // `entries`: name, dtype and shape; begin and bytes are computed. Names must differ. Writes the header.
  SafetensorsWriter(const std::string& path, std::vector<TensorEntry> entries,
                    const std::map<std::string, std::string>& metadata);

  // The next bytes of the tensors, in the order of `entries`; any cut is fine. BugError past the announced size.
  void write(const void* data, std::int64_t bytes);

  // As NewFile::finish. BugError when bytes are missing.
  WrittenFile finish();

 private:
  std::string path_;
  NewFile file_;
  std::int64_t missing_bytes_ = 0;
};

}  // namespace troika::checkpoint
