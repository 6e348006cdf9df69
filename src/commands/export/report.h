// What an export tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace troika::commands {

struct ExportReport {
  std::string dtype;  // fp32, bf16, fp16
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::string> files;  // names, all of them
  std::vector<std::string> notes;  // what the user should know, a sentence each: numbers that became infinite, ...
};

// Of "fp32", "bf16", "fp16".
base::Dtype dtype_of(const std::string& word);

}  // namespace troika::commands
