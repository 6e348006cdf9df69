// What the planner says of a form: what /api/plan answers.
#pragma once

#include <string>

#include "base/language.h"
#include "serve/form.h"

namespace troika::serve {

// As `troika plan --json` has it, of this host with the form's processes, with errors, nearest, yaml and command. Takes seconds for
// large models.
std::string plan_json(const CheckedForm& checked, const Options& options, base::Language language);

}  // namespace troika::serve
