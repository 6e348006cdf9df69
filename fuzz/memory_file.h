// Files that exist in memory only, for parsers that open a path.
#pragma once

#include <string>
#include <string_view>

namespace troika::fuzz {

// One file, rewritten for every input. Owns its descriptor. Threads: one.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void set(std::string_view content);
  const std::string& path() const { return path_; }  // opens as a regular file

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace troika::fuzz
