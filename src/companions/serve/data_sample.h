// What a run of the form would train on, in words: by `troika data inspect`.
#pragma once

#include <string>

#include "serve/form.h"
#include "serve/options.h"
#include "serve/routes.h"

namespace troika::serve {

// Some samples as text, what carries loss between ⟦ and ⟧; at most 64 KiB. Prepares the data in a temporary folder, unless the form names
// a place, for no longer than `deadline_seconds`, and than somebody waits. DataError with what the program says of settings or
// data that are wrong.
std::string data_sample(const Form& form, const Options& options, const Asked& asked, double deadline_seconds);

}  // namespace troika::serve
