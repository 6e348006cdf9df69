// The bytes that a rank holds at most, by following its program with numbers alone.
#pragma once

#include "cost/memory.h"
#include "train/plan.h"

namespace troika::train {

// Of the rank at `at`; the plan's program has been checked. What the ranks' ledgers will count, to the byte.
cost::Memory memory_of_rank(const Plan& plan, const mesh::Coordinate& at);

}  // namespace troika::train
