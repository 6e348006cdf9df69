// The batch arithmetic of resolve.h: from the given settings (batch_quantities.h) to the three quantities of a run.
#pragma once

#include <cstdint>
#include <vector>

#include "base/language.h"
#include "config/resolve.h"
#include "config/settings.h"

namespace troika::config {

// What a check found, one sentence each.
struct Findings {
  std::vector<base::Text> errors;
  std::vector<base::Text> notes;
};

// Solves the three quantities for `dp` ranks. On an error (in `findings`) the result is not meaningful.
// All numbers of `settings` and dp are at least 1.
Batch solve_batch(const BatchSettings& settings, std::int64_t dp, Findings* findings);

// The same where the shares of the data-parallel ranks say how many microbatches a step has (parallel.shares).
Batch solve_batch_of_shares(const BatchSettings& settings, const std::vector<std::int64_t>& shares, Findings* findings);

// "48 and 64 are the nearest that are", the multiples of `unit` around `value` ("8 is the nearest that is").
base::Text nearest_multiples(std::int64_t value, std::int64_t unit);

// solve_batch; with find_micro_batch_size, sequences per forward and microbatches that contradict the stated sequences
// per step are left out.
Batch solve_open_batch(const BatchSettings& stated, std::int64_t dp, Findings* findings);

// With find_micro_batch_size the batches that a run may choose from, ascending by micro. Where sequences per step are stated they stay, so these are all
// divisors up to most_micro_batch that leave a multiple of `accumulation` microbatches; else the microbatches of
// `solved` stay, and the sizes are 1, 2, 3, 4, 6, 8, 12, ... up to most_free_micro_batch. Empty without it.
std::vector<Batch> batch_candidates(const BatchSettings& stated, const Batch& solved, std::int64_t dp);
inline constexpr std::int64_t most_free_micro_batch = 4096, most_micro_batch = 65536;

// The three quantities in their plain spelling, so that every way to ask for one run prints the same.
BatchSettings pinned(const Batch& batch);

// The run with this batch, in its settings too; the question is answered then.
Resolved with_batch(Resolved resolved, const Batch& batch);

}  // namespace troika::config
