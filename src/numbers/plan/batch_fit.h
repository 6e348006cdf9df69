// batch.find_micro_batch_size: which of the batches that a run may choose from fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/memory_check.h"

namespace troika::plan {

// What one rank needs with each candidate, and what there is for it. Bytes; a need of -1: no plan can be made.
struct RankNeeds {
  std::int64_t share = 0;
  std::vector<std::int64_t> needs;
};
RankNeeds needs_of_rank(const config::Resolved& resolved, const DataFacts& data, int world_rank, const Room& room);
std::string to_text(const RankNeeds& needs);
RankNeeds parse_rank_needs(const std::string& text);

// The index of the largest candidate that fits on all ranks, -1 when none does.
int largest_fitting(const std::vector<RankNeeds>& ranks);

// "micro batch 12 fits (11.2 GiB of 14.0 GiB), 16 does not (15.1 GiB of 14.0 GiB)", each of the rank with the least
// room.
std::string describe_fit(const std::vector<config::Batch>& candidates, const std::vector<RankNeeds>& ranks);

}  // namespace troika::plan
