// The sequences of a microbatch, end to end: its rows are their positions, one sequence after the other, and no row is there for
// anything else but filling on devices that want whole multiples of rows (row_unit).
#pragma once

#include <cstdint>
#include <vector>

#include "shape/region.h"

namespace troika::shape {

// Positions that see each other causally and nothing else: a conversation, a document of a packed sample, a window of text.
struct Sequence {
  std::int64_t length = 0;  // positions, over all ranks of a context-parallel group
  std::int64_t sample = 0;  // the global index of its sample, and its first position there
  std::int64_t offset = 0;
};

// The rows of one sequence on one rank: all of it, or its two chunks, the low one first (sequence_chunks).
struct SequenceRows {
  Range rows;  // among the rank's
  SequenceChunks chunks;
};

// Where each sequence lies on a rank of a context-parallel group. Sequences may have no row there.
inline std::vector<SequenceRows> rows_of_sequences(const std::vector<Sequence>& sequences, int cp_rank, int cp) {
  std::vector<SequenceRows> all;
  std::int64_t row = 0;
  for (const Sequence& sequence : sequences) {
    const SequenceChunks chunks = sequence_chunks(sequence.length, cp_rank, cp);
    all.push_back({{row, chunks.count()}, chunks});
    row += chunks.count();
  }
  return all;
}

inline std::int64_t count_rows(const std::vector<Sequence>& sequences, int cp_rank, int cp) {
  std::int64_t rows = 0;
  for (const Sequence& sequence : sequences) rows += sequence_chunks(sequence.length, cp_rank, cp).count();
  return rows;
}

// The row_unit of GPUs.
inline constexpr std::int64_t gpu_row_unit = 256;

// The sizes of a run's microbatches.
struct MicrobatchSizes {
  std::vector<std::int64_t> most_rows;  // by cp rank: of the largest microbatch
  std::int64_t most_with_loss = 0;      // positions that carry loss, of the microbatch that has most of them
  std::int64_t longest = 0;             // sequence of any
  std::int64_t in_step = 0;             // microbatches of the step that has most
  double microbatches = 0;              // of an average step
  // Whether all but the last one have the same lengths; of the evaluation beside a training, or of the evaluation that a run is.
  bool even = true, even_evaluated = true;
  // Of an average microbatch: its positions, those that carry loss, and the sum of the squares of its sequences' positions.
  double positions = 0, with_loss = 0, squares = 0;
};

}  // namespace troika::shape
