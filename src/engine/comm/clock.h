// How far this rank's clock is from rank 0's, so that timelines of several hosts can be laid over each other.
#pragma once

#include <functional>

#include "base/clock.h"
#include "comm/channel.h"

namespace troika::comm {

// Collective. Seconds to add to `now()` of this rank to get that of rank 0; 0 on rank 0. Of `rounds` question-and-answer
// exchanges the one with the shortest round trip counts, so the error is at most half of that round trip.
double clock_offset_seconds(Channel& world, int rounds, const std::function<double()>& now = base::monotonic_seconds);

}  // namespace troika::comm
