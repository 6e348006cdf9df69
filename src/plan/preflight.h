// What a launcher can say of a training run before it starts a rank and before any data is prepared.
#pragma once

#include <cstdint>

#include "config/resolve.h"

namespace troika::plan {

// The ranks that a launcher starts on its host: [first_rank, first_rank + count) of the world.
struct HostRanks {
  int first_rank = 0, count = 1;
  std::int64_t available_bytes = 0;  // free memory of the host
};

// Makes the plan with what is known without the data and compares the memory of these ranks with their shares. ConfigError
// and DataError in the words of the ranks, which would find the same later. Nothing where the memory cannot be known yet: a
// vocabulary that only the data tells, stages that are cut by measured seconds. For ranks that compute on the processor.
void check_before_start(const config::Resolved& resolved, const HostRanks& ranks);

}  // namespace troika::plan
