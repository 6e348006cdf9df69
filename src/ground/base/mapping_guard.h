// Turns a failed read of a mapped file into an error. The file was truncated, or its disk or network file system fails;
// the kernel then sends SIGBUS to the reading thread, which by default ends the process without a message.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace troika::base {

struct MappingWatch;

// While one is there, a MappedFile (made after it) that cannot be read reads as zeros from then on, in all threads, and
// check_mapping() of it throws. SIGBUS for any other reason does what it did before. A signal's handler is one for the process and
// is given no argument, so there is one guard at most, made by main() (docs/decisions/0022-mapping-guard.md). It must outlive the
// threads that read. BugError when there is one already or the handler cannot be set.
class MappingGuard {
 public:
  MappingGuard();
  ~MappingGuard();
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;

 private:
  const std::unique_ptr<MappingWatch> watch_;
};

// To be called after bytes of `file` were read and before they are used. DataError with the path, the place and what is known of
// the cause when some could not be read since the file was mapped. Costs one load of an atomic number while all is well.
// Threads: safe.
void check_mapping(const MappedFile& file);

// Runs `read`, which reads `file`. When that cannot be read, this is the error, whatever `read` made of the zeros.
template <class Read>
void while_reading(const MappedFile& file, const Read& read) {
  try {
    read();
  } catch (const Error&) {
    check_mapping(file);
    throw;
  }
  check_mapping(file);
}

// For MappedFile alone: `file` is mapped, is about to be unmapped. Nothing happens without a guard.
void watch_mapping(const MappedFile& file, const std::string& name);
void forget_mapping(const MappedFile& file) noexcept;

// Memory backed by a file, for bytes that a process uses rarely and that need not be resident in between. A shared mapping of a file without a name, so that nothing is left behind however the process ends. Zero at first.
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
