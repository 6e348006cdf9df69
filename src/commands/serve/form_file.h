// A form out of a file of settings: what POST /api/form answers.
#pragma once

#include <string>

namespace troika::commands::serve {

// `body`: {"yaml": TEXT}, of Troika or LLaMA-Factory. Refused 400 where it is no such object.
std::string form_of_file(const std::string& body);

}  // namespace troika::commands::serve
