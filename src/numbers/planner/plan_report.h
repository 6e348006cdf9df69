// The page of `troika plan`, and its JSON.
#pragma once

#include <string>

#include "base/language.h"
#include "planner/search.h"

namespace troika::planner {

// `run_tokens`: of the whole run; 0: not stated. `start`: the command that trains in the best layout.
std::string plan_text(const Question& question, const Answer& answer, double run_tokens, const std::string& start,
                      base::Language language);
std::string estimate_json(const Question& question, const Estimate& estimate, base::Language language);  // one of the layouts below
std::string plan_json(const Question& question, const Answer& answer, base::Language language);  // also where nothing fits

}  // namespace troika::planner
