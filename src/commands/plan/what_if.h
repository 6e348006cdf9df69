// `troika plan --what-if RUN CHANGE...`: a step that a run recorded, with other links, processors, hosts or settings.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"

namespace troika::commands {

bool asks_what_if(const std::vector<std::string>& words);  // those after the verb

// The text to print, or with --json one object. Errors as planner::what_if().
std::string what_if_report(const std::vector<std::string>& words, base::Language language);

}  // namespace troika::commands
