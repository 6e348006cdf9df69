// The parts of a Hugging Face model folder: model.safetensors, or several files with an index, and small JSON files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/safetensors_writer.h"
#include "config/settings/settings.h"

namespace troika::weights {

// Tensors go into files in their order, as many as fit into `most_bytes` of data, at least one each. Memory: that of one
// SafetensorsWriter. Failures are DataErrors naming path and cause. Threads: one.
class FolderWriter {
 public:
  // `folder` exists. `tensors`: name, dtype and shape; names differ.
  FolderWriter(const std::string& folder, std::vector<checkpoint::TensorEntry> tensors, std::int64_t most_bytes);

  // The next bytes of the tensors, in their order, each tensor by itself: no cut across two.
  void write(const void* data, std::int64_t bytes);

  // Writes the index where there are several files. BugError when bytes are missing. Returns the names of all files.
  std::vector<std::string> finish();

 private:
  struct File {
    std::string name;
    std::vector<checkpoint::TensorEntry> tensors;
    std::int64_t bytes = 0;
  };
  void next_file();
  std::string index_text() const;

  const std::string folder_;
  std::vector<File> files_;
  std::size_t current_ = 0;
  std::int64_t missing_bytes_ = 0;  // of the current file
  std::unique_ptr<checkpoint::SafetensorsWriter> writer_;
};

// config.json of `model` with weights in `dtype` ("fp32", "bf16", "fp16"). The ids of the tokens that begin, end and pad
// (bos_token_id, eos_token_id, pad_token_id) are those of `source`, the text of another config.json; "": there is none.
std::string hugging_face_config(const config::ModelSettings& model, const std::string& dtype,
                                const std::string& source);

// generation_config.json with those ids alone.
std::string hugging_face_generation_config(const std::string& source);

}  // namespace troika::weights
