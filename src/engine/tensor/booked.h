// Tensors that the ledger counts for as long as they live.
#pragma once

#include <cstdint>

#include "tensor/ledger.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::tensor {

// Uninitialised, contiguous, one-dimensional. Its bytes are booked until the last view of it is gone, which must happen
// on the rank's thread and before the ledger ends.
Tensor booked_empty(std::int64_t elements, Dtype dtype, const Device& device, Ledger& ledger, MemoryUse use);
// The same in host memory that the streams' device reads by itself (Streams::new_host_tensor).
Tensor booked_host_tensor(std::int64_t elements, Dtype dtype, Streams& streams, Ledger& ledger, MemoryUse use);

}  // namespace troika::tensor
