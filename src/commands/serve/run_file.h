// A file of a run, opened by somebody who does not trust the folder it lies in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace troika::commands::serve {

// A regular file that is open for reading. Movable. Threads: const use is safe.
class RunFile {
 public:
  // `name` below `folder`: "logs/rank-00000.log". No part of it may be a link, and opening waits for nothing, a pipe included.
  // Nothing where there is no such file.
  static std::optional<RunFile> open(const std::string& folder, const std::string& name);
  // Takes over an open descriptor; nothing where it is none of a regular file.
  static std::optional<RunFile> of(int descriptor);

  ~RunFile();
  RunFile(RunFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), facts_(other.facts_) {}
  RunFile& operator=(RunFile&& other) noexcept;
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;

  // As it was when it was opened.
  struct Facts {
    std::uint64_t device = 0, inode = 0;
    std::int64_t bytes = 0;
    double changed = 0;  // since 1970
  };
  const Facts& facts() const { return facts_; }

  // Bytes from `offset` on; fewer than asked for at the end of the file, or where the disk fails.
  std::size_t read(std::int64_t offset, char* to, std::size_t bytes) const;
  std::string text(std::int64_t offset, std::int64_t bytes) const;

 private:
  RunFile(int descriptor, const Facts& facts) : descriptor_(descriptor), facts_(facts) {}

  int descriptor_ = -1;
  Facts facts_;
};

// All of a file; nothing where there is none. DataError where it is larger than that.
std::optional<std::string> text_of_run(const std::string& folder, const std::string& name, std::int64_t most_bytes);

}  // namespace troika::commands::serve
