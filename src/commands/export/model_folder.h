// Writes a Hugging Face model folder from any source of weights. Format: docs/formats/model-folder.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/model_source.h"

namespace troika::commands {

struct ExportRequest {
  std::string to;               // the folder to be made
  std::string dtype = "auto";   // auto: the source's; fp32, bf16, fp16
  std::string tokenizer;        // a folder whose files go along; empty: the source's
  std::int64_t most_bytes = 0;  // of tensors in one file
};

struct ExportReport {
  std::string dtype;
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::string> files;  // names, all of them
  std::vector<std::string> notes;  // what the user should know, a sentence each: numbers that became infinite, ...
};

// The folder appears whole or not at all: it is written as TO.partial and renamed. Memory: 64 MiB. ConfigError when `to`
// is there and not an empty folder, or TO.partial is there; DataError as of ModelSource::load, and for what cannot be
// written.
ExportReport write_model_folder(train::ModelSource& source, const ExportRequest& request);

}  // namespace troika::commands
