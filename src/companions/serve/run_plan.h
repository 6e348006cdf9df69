// Memory and time of a run, as its plan has them and as they were measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/flag_table.h"
#include "plan/plan.h"
#include "schedule/trace/trace.h"
#include "serve/run_config.h"

namespace troika::serve {

// {"memory": {"predicted": {class: bytes}, "measured": {class: bytes}}, "step_seconds": {"predicted", "measured"}, "lengths", "notes": [...]}.
// Memory of the rank that needs most, and of the one that holds most; what is not
// known is null, or an object without classes.
std::string plan_json_of_run(const std::string& folder, const config::Environment& environment,
                             base::Language language);

// The plan of a run for its ranks and a step, worked out again from its settings.

// ConfigError or DataError, with what is wrong, where the settings of the run's folder make no plan for so many ranks.
plan::Plan plan_of_run(const std::string& folder, const RunSize& size);

struct PlannedStep {
  schedule::StepTrace trace;  // a lane for each rank of the grid, by world rank; of very many ranks one pipeline's
  plan::Memory memory;        // of the rank that needs most
  std::optional<double>
      seconds;  // of the step; nothing where the machines are not known: then every computation takes 1 s
  std::optional<base::Text> why_no_seconds;  // a sentence
  std::vector<std::string> notes;
};

// On hosts like this one, by what `troika probe` and runs have learnt of it; where the run has predicted its step itself, from its own
// machines, the seconds are its. Refused 404 for more instructions than can be simulated while somebody waits.
PlannedStep planned_step(const plan::Plan& plan, const RunSize& size, const config::Environment& environment,
                         base::Language language);

// A step as lanes over time: as it was recorded, or as the plan has it.
inline constexpr std::size_t most_grid_events = 20'000;

// {"steps", "step", "seconds", "lanes": [{"rank", "host", "events": [[begin, end, activity, "fwd 3.1", bytes]]}], "notes"}, with
// "simulated" where the step was not recorded. Of more than 20,000 events the longest. Without `step` the last one that was recorded.
// Refused 404 where neither a recording nor a plan is there.
std::string grid_json(const std::string& folder, std::optional<std::int64_t> step,
                      const config::Environment& environment, base::Language language);

// Drops the shortest events of all lanes until `most` are left, and says how many that were.
std::size_t keep_longest(schedule::StepTrace& trace, std::size_t most);

}  // namespace troika::serve
