// Dropout whose mask is a function of what an element is, not of where or when it is computed: every layout and every
// recomputation draws the same. N. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
// Overfitting", 2014 (here inverted: kept elements are divided by the kept fraction).
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// What the rows of a microbatch are: row b * T + t is position positions_T[t] of sample first_sample + b at this step.
// Steps and samples count modulo 2^32. On a device the positions are two runs at most, each of which counts up by 1.
struct DropoutRows {
  std::uint64_t step = 0, first_sample = 0;
  std::int64_t B = 1;
  std::vector<std::int64_t> positions_T;
};

// x_MI with elements set to 0 with probability `share`, rounded to 2^-16, the others times 1 / (1 - that); its dtype.
// Column i is element first_column + i of the stream `random`. Any device; the same mask on all of them.
tensor::Tensor dropout(const tensor::Tensor& x_MI, const base::Philox& random, const DropoutRows& rows,
                   std::int64_t first_column, double share);

// Compares 16 random bits: below `threshold` an element is dropped, else multiplied by `kept`.
struct DropoutShare {
  std::uint32_t threshold = 0;
  float kept = 1;
};
DropoutShare dropout_share(double share);

}  // namespace troika::kernels
