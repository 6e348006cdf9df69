// A form out of a file of settings: what POST /api/form answers.
#pragma once

#include <string>

#include "base/language.h"

namespace troika::serve {

// `body`: {"yaml": TEXT}, of Troika or LLaMA-Factory. Refused 400 where it is no such object.
std::string form_of_file(const std::string& body, base::Language language);

}  // namespace troika::serve
