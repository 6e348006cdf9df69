// What a run left in its folder, as numbers.
#pragma once

#include <cstdint>
#include <string>

#include "sweep/row.h"

namespace troika::sweep {

// The same for every layout of a sweep.
struct SweepStep {
  std::int64_t steps = 0;    // of a run
  std::int64_t samples = 0;  // of a step
  std::int64_t tokens = 0;
};

// The most that a rank's process of this host took; 0: the system does not tell.
std::int64_t most_resident(const std::string& run_folder);

// Of a run whose last step was recorded. DataError when metrics or timeline are missing or short.
SweepMeasured measured_in(const std::string& run_folder, const SweepStep& step);

}  // namespace troika::sweep
