// Whether a plan's ranks fit into the memory of their hosts, or of their GPUs.
#pragma once

#include <cstdint>

#include "base/language.h"
#include "plan/plan.h"

namespace troika::plan {

// Free memory, and the ranks that share it.
struct Room {
  enum class Where { host, gpu, host_of_gpu } where = Where::host;
  std::int64_t available_bytes = 0;
  int ranks = 1;
};

// The memory of a rank of this grid rank there.
Memory memory_in(const Plan& plan, int grid_rank, Room::Where where);
bool fits(const Plan& plan, int grid_rank, const Room& room);
// "this rank needs 1.2 GiB (...), but its share of this host's free memory is 1.0 GiB (2 ranks here)"
base::Text describe_lack(const Plan& plan, int grid_rank, const Room& room);

// ConfigError when a rank of this grid rank needs more than its share of the room, with what would fit: on a GPU a microbatch
// that was planned.
void check_memory(const Plan& plan, int grid_rank, const Room& room);

}  // namespace troika::plan
