// Memory backed by a file, for bytes that a process uses rarely and that need not be resident in between.
#pragma once

#include <cstdint>
#include <string>

namespace troika::base {

// A shared mapping of a file without a name, so that nothing is left behind however the process ends. Zero at first.
// Owns file and mapping. Threads: data may be used from any one thread at a time.
class ScratchMapping {
 public:
  // The folder is created. DataError, naming it, when the disk has not that many bytes left or cannot be written.
  ScratchMapping(const std::string& folder, std::int64_t bytes);
  ~ScratchMapping();
  ScratchMapping(const ScratchMapping&) = delete;
  ScratchMapping& operator=(const ScratchMapping&) = delete;

  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  // Hints; the content never changes. Offsets in bytes, any alignment.
  void will_need(std::int64_t offset, std::int64_t bytes) const;   // begins to read it from the disk
  void drop(std::int64_t offset, std::int64_t bytes) const;        // its whole pages leave the process's memory
  void write_back(std::int64_t offset, std::int64_t bytes) const;  // begins to write it to the disk

 private:
  int file_ = -1;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace troika::base
