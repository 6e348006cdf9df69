// For tests: small GGUF files in memory.
#pragma once

#include <string>
#include <vector>

#include "gguf/keys.h"
#include "gguf/tensor_type.h"

namespace troika::gguf::testing_support {

struct TestTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string type = "F32";
  std::string bytes = {};  // zeros where empty
};

inline std::string file_bytes(const Keys& keys, const std::vector<TestTensor>& tensors) {
  std::vector<PlannedTensor> planned;
  std::string data;
  for (const TestTensor& tensor : tensors) {
    const TensorType& type = type_named(tensor.type);
    std::int64_t count = 1;
    for (const std::int64_t size : tensor.shape) count *= size;
    const std::int64_t bytes = count / type.block_numbers * type.block_bytes;
    planned.push_back({tensor.name, tensor.shape, type.id, bytes});
    std::string content = tensor.bytes;
    content.resize(static_cast<std::size_t>(aligned(bytes)));
    data += content;
  }
  return header_bytes(keys, planned) + data;
}

}  // namespace troika::gguf::testing_support
