// A step as lanes over time: as it was recorded, or as the plan has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/flag_table.h"
#include "schedule/trace/trace.h"

namespace troika::serve {

inline constexpr std::size_t most_grid_events = 20'000;

// {"steps", "step", "seconds", "lanes": [{"rank", "host", "events": [[begin, end, activity, "fwd 3.1", bytes]]}], "notes"}, with
// "simulated" where the step was not recorded. Of more than 20,000 events the longest. Without `step` the last one that was recorded.
// Refused 404 where neither a recording nor a plan is there.
std::string grid_json(const std::string& folder, std::optional<std::int64_t> step,
                      const config::Environment& environment, base::Language language);

// Drops the shortest events of all lanes until `most` are left, and says how many that were.
std::size_t keep_longest(schedule::StepTrace& trace, std::size_t most);

}  // namespace troika::serve
