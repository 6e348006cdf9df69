// Files of tokens are hashed as they are written and as they are read. The hash is that of base::hash_bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/language.h"
#include "base/stream_hash.h"

namespace troika::data {

// A new file under a temporary name: a header that is written last, and contents that are hashed on their way. Without publish()
// nothing remains. DiskError (made_once.h) when the disk refuses. One thread.
class HashedFile {
 public:
  HashedFile(std::string path, std::size_t header_bytes);
  ~HashedFile();
  void add(std::string_view bytes);
  std::string hash() const { return hash_.hex(); }  // of the contents
  void close_with(const std::string& header);       // synced
  void publish() { base::rename_path(temporary_, path_); }

 private:
  void flush();
  void fail_for(int cause, base::Phrase what) const;  // not where the cause is 0

  const std::string path_, temporary_;
  int descriptor_;
  base::StreamHash hash_;
  std::string buffer_;
};

// The hash of bytes [first, behind) of the file, or to its end. What was read leaves the process's memory as the reading continues.
std::string hash_and_drop(const base::MappedFile& file, std::size_t first, std::size_t behind = SIZE_MAX);

}  // namespace troika::data
