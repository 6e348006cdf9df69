// The time that a rank waited for data that had been produced and were in transit.
#pragma once

#include <vector>

#include "schedule/trace/trace.h"

namespace troika::schedule {

struct Interval {
  double begin = 0, end = 0;
};

// Per rank of the trace, in order of time: the communication intervals as summary.h defines them.
std::vector<std::vector<Interval>> communication_intervals(const StepTrace& trace);

}  // namespace troika::schedule
