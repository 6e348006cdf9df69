// A plan in words.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace troika::plan {

// What rank 0 prints before the first step, a line each.
std::vector<std::string> describe(const Plan& plan);

}  // namespace troika::plan
