// batch.find_micro_batch_size: the batches that a run may choose from.
#pragma once

#include <vector>

#include "config/batch.h"
#include "config/resolve.h"

namespace troika::config {

// solve_batch; with find_micro_batch_size, sequences per forward and microbatches that contradict the stated sequences
// per step are left out.
Batch solve_open_batch(const BatchSettings& stated, std::int64_t dp, Findings* findings);

// With find_micro_batch_size: ascending by micro. Where sequences per step are stated they stay, so these are all
// divisors up to most_micro_batch that leave a multiple of `accumulation` microbatches; else the microbatches of
// `solved` stay, and the sizes are 1, 2, 3, 4, 6, 8, 12, ... up to most_free_micro_batch. Empty without it.
std::vector<Batch> batch_candidates(const BatchSettings& stated, const Batch& solved, std::int64_t dp);
inline constexpr std::int64_t most_free_micro_batch = 4096, most_micro_batch = 65536;

// The three quantities in their plain spelling, so that every way to ask for one run prints the same.
BatchSettings pinned(const Batch& batch);

// The run with this batch, in its settings too; the question is answered then.
Resolved with_batch(Resolved resolved, const Batch& batch);

}  // namespace troika::config
