// Tensors that the ledger counts for as long as they live.
#pragma once

#include <cstdint>

#include "tensor/ledger.h"
#include "tensor/tensor.h"

namespace troika::tensor {

// Uninitialised, contiguous, one-dimensional. Its bytes are booked until the last view of it is gone, which must happen
// on the rank's thread and before the ledger ends.
Tensor booked_empty(std::int64_t elements, Dtype dtype, const Device& device, Ledger& ledger, MemoryUse use);

}  // namespace troika::tensor
