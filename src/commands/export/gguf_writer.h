// Writes a GGUF file tensor by tensor out of any source of slices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "commands/export/model_folder.h"
#include "gguf/architecture.h"
#include "gguf/keys.h"
#include "gguf/tensor_type.h"
#include "shape/layout.h"

namespace troika::commands {

struct OutTensor {
  shape::ParameterInfo info;  // what the source calls it
  std::string name;
  std::vector<std::int64_t> shape;  // in the file
  const gguf::TensorType* type = nullptr;
  gguf::Arrangement arrangement = {};
  float factor = 1;  // of every number

  std::int64_t columns() const { return shape.size() == 2 ? shape.back() : 1; }
  std::int64_t rows() const { return shape.front(); }
  std::int64_t bytes() const { return info.elements() / type->block_numbers * type->block_bytes; }
};

// `wanted` where the use and the rows of a tensor allow it: F32 for one dimension, norms and tables of positions, F16
// for rows that are no whole blocks.
const gguf::TensorType& fitting_type(const OutTensor& tensor, const gguf::TensorType& wanted);

using LoadSlices = std::function<void(const std::vector<checkpoint::Slice>&)>;

// The file appears whole or not at all. `rotary_factors`: those of rope_freqs.weight; may be empty. Memory: 128 MiB.
// Counts tensors, parameters and bytes in the report, and notes for each tensor how many numbers became infinite.
// DataError for what cannot be written.
void write_gguf(const std::string& path, const gguf::Keys& keys, const std::vector<float>& rotary_factors,
                const std::vector<OutTensor>& tensors, const LoadSlices& load, ExportReport* report);

}  // namespace troika::commands
