// How tensor and context parallelism split the computation of a microbatch over ranks.
#pragma once

#include <cstdint>

#include "shape/range.h"

namespace troika::shape {

// A rank's place in its tensor-parallel group.
struct TensorShare {
  int rank = 0, size = 1;
};

// Whether each rank of a tensor-parallel group keeps only a part of the rows between the split operations (V. Korthikanti
// et al., "Reducing Activation Recomputation in Large Transformer Models", 2022).
enum class SequenceParallel { off, on };

// The rows of M that a rank keeps between the split operations: its part with sequence parallelism, else all.
inline Range rows_between_operations(std::int64_t M, const TensorShare& share, SequenceParallel sequence) {
  return sequence == SequenceParallel::on ? part_of(M, share.rank, share.size) : Range{0, M};
}

// The positions of a sequence that a rank of a context-parallel group holds: of 2 x cp chunks, numbers rank and
// 2 x cp - 1 - rank, which gives every rank the same share of a causal mask. Any length works; chunks may be empty.
struct SequenceChunks {
  Range low, high;
  std::int64_t count() const { return low.count + high.count; }
};
inline SequenceChunks sequence_chunks(std::int64_t length, int cp_rank, int cp) {
  return {part_of(length, cp_rank, 2 * cp), part_of(length, 2 * cp - 1 - cp_rank, 2 * cp)};
}

}  // namespace troika::shape
