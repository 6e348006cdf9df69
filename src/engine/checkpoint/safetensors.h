// The safetensors file: 8 bytes of header length (little endian), a JSON header, then the tensors' bytes. Reading maps
// the file and checks every number of the header against the file before anything else uses it; nothing is ever
// executed. Source: the format description of the safetensors project (header at most 100 MB, tensors without holes or
// overlaps).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/file.h"
#include "base/mapping_guard.h"
#include "shape/region.h"

namespace troika::checkpoint {

// An element type of files: one of the program's, or I16, I8 or BOOL, of which it knows name and size alone. A value.
class StoredDtype {
 public:
  StoredDtype(base::Dtype dtype) : row_(static_cast<int>(dtype)) {}
  static std::optional<StoredDtype> named(std::string_view name);

  std::string name() const;    // "F32", "BF16", ...
  std::int64_t bytes() const;  // of one element

  friend bool operator==(StoredDtype a, StoredDtype b) { return a.row_ == b.row_; }
  friend bool operator!=(StoredDtype a, StoredDtype b) { return a.row_ != b.row_; }

 private:
  int row_;
};

struct TensorEntry {
  std::string name;
  StoredDtype dtype = base::Dtype::fp32;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  // byte position in the file
  std::int64_t bytes = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> entries;  // in file order, adjoining, the last ends with the file
};

// Parses the JSON header of a file of `file_bytes` bytes. DataError naming `origin` for anything the format forbids.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::int64_t file_bytes, const std::string& origin);

// A checked, mapped file. Movable. Threads: const use is safe.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);  // DataError when unreadable or invalid

  const std::string& path() const { return path_; }
  const SafetensorsHeader& header() const { return header_; }
  std::string_view header_text() const { return header_text_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(file_.size()); }
  const base::MappedFile& mapping() const { return file_; }
  const std::byte* at(std::int64_t position) const { return file_.data() + position; }  // byte position in the file

  // Runs `read`, which reads bytes of at(). DataError naming the file when they cannot be read, whatever `read` made of them.
  template <class Read>
  void while_reading(const Read& read) const {
    base::while_reading(file_, read);
  }

  // Hints about bytes of the file: they will be read soon; they were read, so their pages may leave the memory.
  void will_need(std::int64_t position, std::int64_t bytes) const { file_.will_need(position, bytes); }
  void drop(std::int64_t position, std::int64_t bytes) const { file_.drop(position, bytes); }

 private:
  std::string path_;
  base::MappedFile file_;
  std::string_view header_text_;
  SafetensorsHeader header_;
};

// Pages that were read leave the process's memory a few MiB at a time, so that many small reads neither pile up nor cost a
// system call each. One thread's; the file must outlive it.
class ReadPages {
 public:
  explicit ReadPages(const SafetensorsFile& file) : file_(file) {}
  ~ReadPages() { drop(); }
  ReadPages(const ReadPages&) = delete;
  ReadPages& operator=(const ReadPages&) = delete;

  void add(std::int64_t position, std::int64_t bytes);  // they were read

 private:
  void drop();

  const SafetensorsFile& file_;
  std::int64_t begin_ = 0, end_ = 0, read_ = 0;  // since the last drop: what lies around all of them; how many
};

// The entries of a part of a checkpoint, from its header (part.h describes how slices become entries).
struct PartEntry {
  std::string name;                 // of the tensor
  std::vector<std::int64_t> shape;  // of the whole tensor
  shape::Region region;
  std::int64_t begin = 0;  // byte position in the file
};

inline const char* const region_prefix = "region.";  // of the metadata key; the entry's name follows

// The slices of a part from its header. DataError naming `origin` when a region is impossible or the dtype is not F32.
std::vector<PartEntry> part_entries(const SafetensorsHeader& header, const std::string& origin);

}  // namespace troika::checkpoint
