// Runs that the page starts and resumes, as processes of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "serve/catalog.h"
#include "serve/form.h"
#include "serve/routes.h"

namespace troika::serve {

inline constexpr double start_patience_seconds = 2;

// Into a new folder of that name, or that of a run which has not trained a step. Returns its name when so many seconds have passed and it
// has not ended with an error, or it has ended well. Refused 400 where the settings are wrong or it ended, then with why in the language
// of `asked`; 409 where the name is taken.
std::string start_run(const Shop& shop, const Form& form, const Asked& asked,
                      double patience_seconds = start_patience_seconds);

// With the settings of its last attempt and as many processes; from the newest checkpoint, or that of `step`. Refused 404, 409.
void resume_run(const Shop& shop, const std::string& name, std::optional<std::int64_t> step, const Asked& asked,
                double patience_seconds = start_patience_seconds);

}  // namespace troika::serve
