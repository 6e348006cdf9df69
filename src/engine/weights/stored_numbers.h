// The numbers of a tensor in a mapped file: as a safetensors file has them, or as a GGUF file does, in blocks with
// scales and in an order of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "checkpoint/safetensors.h"
#include "gguf/architecture.h"
#include "gguf/tensor_type.h"

namespace troika::weights {

// Positions count the numbers of the parameter, in its order and shape.
struct StoredTensor {
  const base::MappedFile* file = nullptr;
  std::string path;                                   // of the file
  checkpoint::StoredDtype dtype = base::Dtype::fp32;  // of the numbers; of blocks fp32, which holds every bit of theirs
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  // byte position in the file
  std::int64_t bytes = 0;
  const gguf::TensorType* blocks = nullptr;
  gguf::Arrangement arrangement = {};

  const std::byte* at(std::int64_t position) const { return file->data() + position; }  // byte position in the file
};

inline std::string type_name(const StoredTensor& tensor) {  // "F32", "Q8_0"
  return tensor.blocks == nullptr ? tensor.dtype.name() : tensor.blocks->name;
}
std::int64_t stored_bytes(const StoredTensor& tensor, std::int64_t numbers);  // rounded up

// Numbers [begin, begin + count), by way of fp32 where `as` is not the stored dtype. `to` does not overlap. Within
// base::while_reading.
void read_numbers(const StoredTensor& tensor, std::int64_t begin, std::int64_t count, std::byte* to,
                  checkpoint::StoredDtype as);

// The bytes of the file that hold them, and perhaps others.
struct StoredRange {
  std::int64_t begin = 0, bytes = 0;
};
StoredRange range_of(const StoredTensor& tensor, std::int64_t begin, std::int64_t count);

}  // namespace troika::weights
