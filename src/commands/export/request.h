// What an export is asked for, and what it tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace troika::commands {

struct ExportRequest {
  std::string to;               // the folder to be made
  std::string dtype = "auto";   // auto: the source's; fp32, bf16, fp16
  std::string tokenizer;        // a folder whose files go along; empty: the source's
  std::int64_t most_bytes = 0;  // of tensors in one file of a model
};

struct ExportReport {
  std::string dtype;
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::string> files;  // names, all of them
  std::vector<std::string> notes;  // what the user should know, a sentence each: numbers that became infinite, ...
};

// Of "fp32", "bf16", "fp16".
checkpoint::DType dtype_of(const std::string& word);

}  // namespace troika::commands
