// Tensors out of a source and into a file, a piece at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/language.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "shape/layout.h"

namespace troika::commands {

// What an export tells.
struct ExportReport {
  std::string dtype;  // fp32, bf16, fp16
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::string> files;  // names, all of them
  std::vector<base::Text> notes;   // what the user should know, a sentence each: numbers that became infinite, ...
};

// Of "fp32", "bf16", "fp16".
base::Dtype dtype_of(const std::string& word);

struct TensorStream {
  std::function<void(const std::vector<checkpoint::Slice>&)> load;  // fills the slices
  std::function<void(const void* data, std::int64_t bytes)> write;  // the next bytes, no cut across two tensors
};

// All elements of all tensors in order, in `dtype`. Memory: 64 MiB. Counts tensors, parameters and bytes in the report,
// and notes for each tensor how many numbers became infinite.
void export_tensors(const std::vector<shape::ParameterInfo>& infos, base::Dtype dtype, const TensorStream& stream,
                    ExportReport* report);

}  // namespace troika::commands
