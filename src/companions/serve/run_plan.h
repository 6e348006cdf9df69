// Memory and time of a run, as its plan has them and as they were measured.
#pragma once

#include <string>

#include "base/language.h"
#include "config/flag_table.h"

namespace troika::serve {

// {"memory": {"predicted": {class: bytes}, "measured": {class: bytes}}, "step_seconds": {"predicted", "measured"}, "notes": [...]}.
// Memory of the rank that needs most, and of the one that holds most; what is not
// known is null, or an object without classes.
std::string plan_json_of_run(const std::string& folder, const config::Environment& environment,
                             base::Language language);

}  // namespace troika::serve
