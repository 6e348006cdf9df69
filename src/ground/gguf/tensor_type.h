// How GGUF files store the numbers of a tensor: as they are, or in blocks with a scale (ggml's types).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"

namespace troika::gguf {

struct TensorType {
  std::uint32_t id;  // in the file
  const char* name;  // "Q8_0"
  std::int64_t block_numbers, block_bytes;
  std::optional<base::Dtype> dtype;  // of one number; nothing: the type has blocks
  void (*read_block)(const std::byte* block, float* numbers);
  std::uint32_t file_type;  // general.file_type of a model that is mostly of this type
};

// The types that are read: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K. Null for any other.
const TensorType* find_type(std::uint32_t id);
const TensorType& type_named(const std::string& name);  // BugError for one that is not read

// "IQ4_XS"; "type 99" where no type has that id.
std::string name_of_type(std::uint32_t id);
std::string names_of_types();  // of those that are read

// Numbers [begin, begin + count) of a tensor of blocks whose first byte is `data`, exactly as the package gguf 0.19
// (gguf.quants.dequantize) computes them: a product, and where the type has a minimum a sum, each rounded to fp32.
void read_blocks(const TensorType& type, const std::byte* data, std::int64_t begin, std::int64_t count, float* to);

// `count` numbers, a multiple of 32, as blocks of Q8_0 (34 bytes each), byte by byte as gguf.quants.quantize.
void write_q8_0(const float* numbers, std::int64_t count, std::byte* to);

}  // namespace troika::gguf
