// Writes what every rank did in a recorded step: each rank's file on its own host, the merged file on rank 0's host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "schedule/trace/trace.h"

namespace troika::train {

struct TimelinePlace {
  std::string folder;  // OUT/timeline on this host
  std::string host;
  int world_rank = 0;
  int grid_rank = 0;
  std::optional<schedule::Link> link;  // as measured before the steps
};

// Collective over `world`, after the step. Clocks are aligned with rank 0's. Returns the merged trace on rank 0, an empty one
// elsewhere.
schedule::StepTrace write_timeline(const TimelinePlace& place, std::int64_t step, std::vector<schedule::Event> events,
                                   comm::Channel& world);

}  // namespace troika::train
