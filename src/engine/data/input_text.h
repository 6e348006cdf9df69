// The text of a file, compressed or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/mapping_guard.h"

namespace troika::data {

enum class Compression { none, gzip, zstd };

Compression compression_of(std::string_view name);            // by the ending: .gz, .zst, also in capitals
std::string_view without_compression(std::string_view name);  // "a.jsonl.gz" -> "a.jsonl"
bool has_ending(std::string_view name,
                std::string_view ending);  // one in small letters, which `name` may have in capitals

// The file mapped; what is compressed is first decompressed into a file without a name, which disappears with the
// object. So memory stays bounded. Movable. Threads: const use is safe.
class InputText {
 public:
  // `scratch`: folder for what is decompressed, created where needed; "": the system's folder for temporary files.
  // DataError naming `path` when it cannot be read, is damaged, ends in the middle, or has data after its end,
  // and naming the folder when it has no room.
  explicit InputText(const std::string& path, const std::string& scratch = "");

  std::string_view text() const { return file_.text(); }
  // Runs `read`, which reads the text. DataError naming the file when that cannot be read, whatever `read` made of it.
  template <class Read>
  void while_reading(const Read& read) const {
    base::while_reading(file_, read);
  }
  std::int64_t stored_bytes() const { return stored_bytes_; }  // of the file as it lies on the disk

 private:
  std::int64_t stored_bytes_;
  base::MappedFile file_;
};

// The first `most_bytes` bytes of the text, without reading much more. DataError as InputText.
std::string first_text(const std::string& path, std::size_t most_bytes);

// Takes the next bytes; false: no more are wanted.
using TakeBytes = std::function<bool(std::string_view bytes)>;

// Decompresses gzip (RFC 1952) or Zstandard (RFC 8878), all members or frames of `content` one after the other. DataError naming `path` for damage, for an end in
// the middle and for anything else after the end.
void decompress(std::string_view content, Compression compression, const std::string& path, const TakeBytes& take);

}  // namespace troika::data
