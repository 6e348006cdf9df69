// A plan in words.
#pragma once

#include <vector>

#include "base/language.h"
#include "plan/memory_check.h"
#include "plan/plan.h"

namespace troika::plan {

// What rank 0 prints before the first step, a line each. `where` the ranks compute: the host or GPUs.
std::vector<base::Text> describe(const Plan& plan, Room::Where where);

// The first two of these without their titles: "qwen3-tiny: 4 layers, width 128, ...", "dp 2 x pp 2, ...".
base::Text model_line(const Plan& plan);
base::Text layout_line(const Plan& plan);

}  // namespace troika::plan
