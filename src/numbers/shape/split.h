// How tensor and context parallelism split the computation of a microbatch over ranks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace troika::shape {

// Consecutive elements, rows or heads, and how a count of them is cut evenly.
struct Range {
  std::int64_t begin = 0, count = 0;
  std::int64_t end() const { return begin + count; }
};

// What is in both; where nothing is, empty at the begin of `a`.
inline Range common(const Range& a, const Range& b) {
  const std::int64_t begin = std::max(a.begin, b.begin), end = std::min(a.end(), b.end());
  return begin < end ? Range{begin, end - begin} : Range{a.begin, 0};
}

// Part `rank` of `size`: [total * rank / size, total * (rank + 1) / size). Empty where size > total.
inline Range part_of(std::int64_t total, int rank, int size) {
  const std::int64_t begin = total * rank / size;
  return {begin, total * (rank + 1) / size - begin};
}

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
