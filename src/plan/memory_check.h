// Whether a plan's ranks fit into the memory of their hosts.
#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace troika::plan {

// ConfigError when a rank of this grid rank needs more than its share of `available_bytes`, with what would fit.
void check_memory(const Plan& plan, int grid_rank, std::int64_t available_bytes, int ranks_on_host);

}  // namespace troika::plan
