// Attention of one new query per sequence over all its keys, which is what decoding computes: bound by reading keys and
// values. fp32. A sequence's results do not depend on the others, nor on the number of threads.
// Shapes: B sequences, n query heads, k key/value heads (n is a multiple of k; n / k neighbours read one), H head width, S
// keys of a sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/heads.h"

namespace troika::cpu {

struct RowAttention {
  std::int64_t n = 0, k = 0, H = 0;
  double scale = 1;  // of the scores
};

struct CachedSequence {
  std::int64_t S = 0;  // at least 1
  FloatHeads k, v;     // S x k x H; batch_stride is not read
};

// q and out: B x n x H, dense. `out` must not overlap the inputs. Memory: S n / k floats per thread.
void attend_rows(const RowAttention& op, const std::vector<CachedSequence>& sequences, const float* q_BnH,
                 float* out_BnH);

}  // namespace troika::cpu
