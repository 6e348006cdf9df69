// The architectures of GGUF files that are models here, and what their tensors are called as Hugging Face publishes
// them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gguf/header.h"

namespace troika::gguf {

// The order in which a GGUF file has the numbers of a tensor that others publish as [rows, columns].
enum class Order {
  same,
  pairs,      // of each head's H rows, row i and row i + H/2 are the rows 2i and 2i + 1: llama.cpp rotates neighbours
  transposed  // [columns, rows]
};

struct Arrangement {
  Order order = Order::same;
  std::int64_t head_rows = 0;  // H, of pairs
  float added = 0;             // to every number in the GGUF file
};

struct Architecture {
  const char* name;        // general.architecture
  const char* model_type;  // of config.json
  const char* model_class;
  std::vector<std::pair<const char*, const char*>> outer, block;  // names without their layer: GGUF's, Hugging Face's
  const char* block_prefix;                                       // "model.layers."
  bool has_pairs, has_added_norms, is_transposed;
};

// Null for an architecture that is not read. `model_type`: the first that is written for it.
const Architecture* find_architecture(const std::string& name);
const Architecture* architecture_of_model_type(const std::string& model_type);
std::string names_of_architectures();

// Of the file; DataError that lists those that are read.
const Architecture& architecture_of(const Header& header);

// "model.layers.3.self_attn.q_proj.weight" of "blk.3.attn_q.weight" and back; "" where the architecture has no such
// tensor.
std::string published_name(const Architecture& architecture, const std::string& name);
std::string gguf_name(const Architecture& architecture, const std::string& published);

// Of the tensor with this GGUF name, for heads of so many rows.
Arrangement arrangement_of(const Architecture& architecture, const std::string& name, std::int64_t head_rows);

// A tensor of a file under the name and shape in which Hugging Face publishes it.
struct PublishedTensor {
  std::string name;  // as in the file, where the architecture has no such tensor
  std::vector<std::int64_t> shape;
  const Tensor* tensor = nullptr;
  Arrangement arrangement;
};

// All but the tables of rotary factors, which config.json states (model_config.h). DataError of architecture_of, and
// where queries or keys are not whole heads.
std::vector<PublishedTensor> published_tensors(const Header& header);

std::int64_t head_rows_of(const Header& header);  // attention.key_length, else the width divided by the heads

}  // namespace troika::gguf
