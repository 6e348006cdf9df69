// How long an exchange takes; the formula is in simulator.h.
#pragma once

#include <vector>

#include "schedule/flow.h"
#include "schedule/simulator.h"

namespace troika::schedule {

double exchange_seconds(const Program& program, const CostModel& costs, const std::vector<Place>& parties);

}  // namespace troika::schedule
