// Dropout on the device, with the mask of kernels/dropout.h.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"

namespace troika::cuda {

// What the mask is drawn from, and how. Element e of a row is kept where its 16 bits, number e % 8 of block e / 8 of the row,
// are at least `threshold`, and multiplied with `kept`.
struct DropoutDraw {
  std::uint32_t key[2] = {0, 0};
  std::uint32_t first_sample = 0, step = 0;
  std::uint32_t threshold = 0;
  float kept = 1;
};

// Row b T + t is of sample first_sample + b; its columns are elements first_column + i. Its position: those of a rank are two
// runs at most, `first_count` positions from `first` on, then others from `second` on.
struct DropoutRows {
  Dtype dtype = Dtype::fp32;
  std::int64_t B = 0, T = 0, I = 0;
  std::int64_t first_column = 0;
  std::int64_t first = 0, first_count = 0, second = 0;
};

}  // namespace troika::cuda
