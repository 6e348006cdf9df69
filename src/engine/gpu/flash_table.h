// What cuDNN's attention does not do here, as a table: numbers alone, so that it can be read and tested without a device.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/language.h"
#include "base/repeatable.h"
#include "shape/gpu_chunks.h"

namespace troika::gpu {

inline constexpr int least_cudnn = 91002;  // 9.10.2, which torch 2.8 brings

struct FlashCase {
  int cudnn = 0;       // its version, as it counts: 91002 is 9.10.2
  int capability = 0;  // of the device: 90 is 9.0
  base::Dtype dtype = base::Dtype::bf16;
  std::int64_t T = 0, S = 0, H = 0;  // queries, keys, head width
  base::Repeatable repeatable = base::Repeatable::yes;
  std::int64_t most_bytes = shape::most_flash_bytes;  // of gradients of scores
};

// Why it does not compute this; empty: it does.
base::Text cudnn_lacks(const FlashCase& of);

}  // namespace troika::gpu
