// Writes a safetensors file front to back: the layout first, then the tensors' bytes in that order. Memory: one 1 MiB
// buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/new_file.h"
#include "checkpoint/safetensors.h"

namespace troika::checkpoint {

// Errors and threads as NewFile's.
class SafetensorsWriter {
 public:
  // `entries`: name, dtype and shape; begin and bytes are computed. Names must differ. Writes the header.
  SafetensorsWriter(const std::string& path, std::vector<TensorEntry> entries,
                    const std::map<std::string, std::string>& metadata);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // The next bytes of the tensors, in the order of `entries`; any cut is fine. BugError past the announced size.
  void write(const void* data, std::int64_t bytes);

  // As NewFile::finish. BugError when bytes are missing.
  WrittenFile finish();

 private:
  std::string path_;
  std::unique_ptr<NewFile> file_;
  std::int64_t missing_bytes_ = 0;
};

}  // namespace troika::checkpoint
