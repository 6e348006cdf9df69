// The bytes that a rank holds at most, by following its program with numbers alone.
#pragma once

#include "cost/memory.h"
#include "schedule/checker.h"
#include "train/plan.h"

namespace troika::train {

// Of the rank at `at`; `report` is that of the plan's checked program.
cost::Memory memory_of_rank(const Plan& plan, const schedule::Report& report, const mesh::Coordinate& at);

}  // namespace troika::train
