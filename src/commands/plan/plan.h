// `troika plan`: the layouts of a training on machines, ranked, with their reasons.
#pragma once

#include <string>

#include "base/language.h"
#include "commands/verbs.h"
#include "planner/search.h"

namespace troika::commands {

// The text to print, or one JSON object; writes --write's file. ConfigError when no layout fits, with what would.
std::string plan_report(const Call& call);

std::string plan_text(const planner::Question& question, const planner::Answer& answer, double run_tokens,
                      const std::string& start, base::Language language);
std::string estimate_json(const planner::Question& question, const planner::Estimate& estimate,
                          base::Language language);  // one of the layouts below
std::string plan_json(const planner::Question& question, const planner::Answer& answer,
                      base::Language language);  // also where nothing fits

}  // namespace troika::commands
