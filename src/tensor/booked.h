// Tensors that the ledger counts for as long as they live.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tensor/ledger.h"

namespace troika::tensor {

// Uninitialised, contiguous, one-dimensional. Its bytes are booked until the last view of it is gone, which must happen
// on the rank's thread and before the ledger ends.
at::Tensor booked_empty(std::int64_t elements, at::ScalarType dtype, const c10::Device& device, Ledger& ledger,
                        MemoryUse use);

}  // namespace troika::tensor
