// A count as a factor of rates and times.
#pragma once

#include <cstdint>

namespace troika::planner {

inline double real(std::int64_t x) { return static_cast<double>(x); }

}  // namespace troika::planner
