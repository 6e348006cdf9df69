// Where this program is.
#pragma once

#include <string>

namespace troika::host {

std::string own_program();      // its path; ConfigError where it is not found
std::string running_program();  // the same, also where its file was replaced meanwhile

}  // namespace troika::host
