// How fast the steps of the last attempt were, for rules about speed.
#pragma once

#include <cstddef>

#include "diagnosis/facts.h"

namespace troika::diagnosis {

// The median seconds of the last quarter of its steps over that of the first; 0: there are less than `least`.
double slowdown(const Facts& facts, std::size_t least);

// 20 steps, 10 seconds and three samples of every rank: what is shorter says nothing of speed.
bool is_long_enough(const Facts& facts);

double share(double seconds, const RankFacts& rank);  // of the rank's time

}  // namespace troika::diagnosis
