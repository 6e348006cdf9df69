// What a run of the form would train on, in words: by `troika data inspect`.
#pragma once

#include <string>

#include "base/language.h"
#include "commands/serve/form.h"
#include "commands/serve/options.h"

namespace troika::commands::serve {

// Some samples as text, what carries loss between ⟦ and ⟧; at most 64 KiB. Prepares the data in a temporary folder, unless the form names
// a place, for no longer than `deadline_seconds`. DataError with what the program says of settings or data that are wrong.
std::string data_sample(const Form& form, const Options& options, base::Language language, double deadline_seconds);

}  // namespace troika::commands::serve
