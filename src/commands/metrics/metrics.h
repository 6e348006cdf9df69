// `troika metrics RUN`: the numbers of a run's steps for other programs: a table, Prometheus, TensorBoard.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"

namespace troika::commands {

// `arguments`: those after the verb (arguments.h). Returns the text to print. ConfigError: malformed arguments, no such run.
std::string metrics_report(const std::vector<std::string>& arguments, base::Language language);

}  // namespace troika::commands
