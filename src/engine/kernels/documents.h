// The documents of packed sequences, in the form that attention reads. Made on the host, once for all layers of a
// microbatch, so that no operation has to ask the device. Shapes: B sequences, T query positions, S key positions.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troika::kernels {

// The part of a causal mask that one call of attention covers.
struct CausalWindow {
  std::int64_t T = 0, S = 0;                // queries, keys
  std::int64_t q_offset = 0, k_offset = 0;  // positions of the first query and the first key
};

enum class Sight {
  nothing,     // no query sees a key, or there are none of either
  everything,  // every query sees every key
  diagonal,    // the last query sees all keys, and each before it one key less
  other,
};
Sight sight_of(const CausalWindow& window);

// For one call of attention, on its device. Undefined: no bounds but the causal mask.
struct DocumentBounds {
  tensor::Tensor first_key_BT;  // int64: the first key position that a query may see, alike within a document
};
// Queues the copy to the device and does not wait for it.
DocumentBounds document_bounds(const tensor::Tensor& first_key_BT, const tensor::Device& device);

}  // namespace troika::kernels
