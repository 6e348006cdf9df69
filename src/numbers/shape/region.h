// Regions of a flattened tensor: the elements of a slice, and the intersection of two slices; and how tensor and context parallelism
// split the computation of a microbatch over ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::shape {

// Elements of a tensor that one rank holds, as indices into the flattened whole tensor:
// for i in [0, count): [offset + i * stride, offset + i * stride + run). A whole tensor is {0, numel, numel, 1}.
struct Region {
  std::int64_t offset = 0, run = 0, stride = 0, count = 1;
  std::int64_t elements() const { return run * count; }
};

// Product of a shape; 1 for a scalar. DataError when a dim is negative or the product passes 2^62.
std::int64_t element_count(const std::vector<std::int64_t>& shape);

// "" when the region lies inside a tensor of `numel` elements and its runs do not overlap, else what is wrong with it.
base::Text region_problem(const Region& region, std::int64_t numel);

// The same elements with adjoining runs joined: {o, 4, 4, 3} is {o, 12, 12, 1}. Needs a region without problem.
Region joined(const Region& region);

bool is_whole(const Region& region, std::int64_t numel);

// "offset,run,stride,count;shape=2,3" and back. DataError naming `origin` when malformed.
std::string region_to_text(const Region& region, const std::vector<std::int64_t>& shape);
void region_from_text(const std::string& text, const std::string& origin, Region* region,
                      std::vector<std::int64_t>* shape);

// Elements [begin, begin + count) of a region, counted in its order, as regions of the same tensor in that order: at most
// three. Needs a region without problem.
std::vector<Region> part_of_region(const Region& region, std::int64_t begin, std::int64_t count);

// The intersection of regions `a` and `b` of one tensor, in ascending order of global index: calls piece(position in a, position in
// b, elements), positions counting the elements of the region in order. Needs regions without problem.
template <class Piece>
void intersect(const Region& a_region, const Region& b_region, const Piece& piece) {
  const Region a = joined(a_region), b = joined(b_region);
  if (a.elements() == 0 || b.elements() == 0) return;
  const std::int64_t b_end = b.offset + (b.count - 1) * b.stride + b.run;
  const auto first_run = [](const Region& region, std::int64_t index) {  // the last run that begins at or before index
    return index <= region.offset ? std::int64_t{0}
                                  : std::min((index - region.offset) / region.stride, region.count - 1);
  };
  for (std::int64_t i = first_run(a, b.offset); i < a.count; ++i) {
    const std::int64_t a_begin = a.offset + i * a.stride, a_end = a_begin + a.run;
    if (a_begin >= b_end) return;
    for (std::int64_t k = first_run(b, a_begin); k < b.count; ++k) {
      const std::int64_t b_begin = b.offset + k * b.stride;
      if (b_begin >= a_end) break;
      const std::int64_t begin = std::max(a_begin, b_begin), end = std::min(a_end, b_begin + b.run);
      if (begin < end) piece(i * a.run + begin - a_begin, k * b.run + begin - b_begin, end - begin);
    }
  }
}

// Elements common to both.
std::int64_t common_elements(const Region& a, const Region& b);

// Consecutive elements, rows or heads, and how a count of them is cut evenly.
struct Range {
  std::int64_t begin = 0, count = 0;
  std::int64_t end() const { return begin + count; }
};

// The intersection; where there is none, empty at the begin of `a`.
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
