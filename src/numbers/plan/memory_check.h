// Whether a plan's ranks fit into the memory of their hosts, or of their GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "plan/plan.h"

namespace troika::plan {

// The memory of a rank of this grid rank there.
Memory memory_in(const Plan& plan, int grid_rank, Room::Where where);
bool fits(const Plan& plan, int grid_rank, const Room& room);
// "this rank needs 1.2 GiB (...), but its share of this host's free memory is 1.0 GiB (2 ranks here)"
base::Text describe_lack(const Plan& plan, int grid_rank, const Room& room);

// ConfigError when a rank of this grid rank needs more than its share of the room, with what would fit: on a GPU a microbatch
// that was planned.
void check_memory(const Plan& plan, int grid_rank, const Room& room);

// For batch.find_micro_batch_size: one rank's need with each batch to choose from, and its room. Bytes; a need of -1: no plan.
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
base::Text describe_fit(const std::vector<config::Batch>& candidates, const std::vector<RankNeeds>& ranks);

}  // namespace troika::plan
