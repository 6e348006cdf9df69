// What a step waits for most.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "planner/replay.h"

namespace troika::planner {

// Simulates the step with links twice as fast, with processors twice as fast and with each host twice as fast, and says in a
// sentence what that would make of it.
base::Text limit_of(const Replay& replay, const std::vector<std::string>& hosts);

}  // namespace troika::planner
