// One way between two ranks.
#pragma once

#include <limits>

namespace troika::schedule {

struct Link {  // from one rank to another; links are full duplex
  double latency_seconds = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();
};

}  // namespace troika::schedule
