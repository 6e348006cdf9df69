// The command that trains in a layout of the plan, as one can paste it.
#pragma once

#include <string>

#include "planner/layout.h"
#include "planner/plan_arguments.h"

namespace troika::planner {

// Of the file that --write wrote, else in the words of the command line with the layout behind them. Several ranks are started by
// `troika launch`; where K, HOST0 or PATH stands in it, the user has to say which.
std::string start_command(const PlanArguments& a, const Question& question, const Layout& layout);

}  // namespace troika::planner
