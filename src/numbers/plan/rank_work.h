// The amount of computing that a plan gives a rank.
#pragma once

#include "plan/plan.h"

namespace troika::plan {

// The computing of a training step, in a unit that is the same for all ranks: multiply-adds per token, over its
// microbatches and stages.
double computing_of_step(const Plan& plan, int grid_rank);

}  // namespace troika::plan
