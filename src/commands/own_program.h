// Where this program is.
#pragma once

#include <string>

namespace troika::commands {

std::string own_program();                            // its path; ConfigError where it is not found
std::string running_program();                        // the same, also where its file was replaced meanwhile
std::string program_beside(const std::string& name);  // of that name, in the same folder
std::string engine_program();                         // troika-engine; ConfigError where it is not there

}  // namespace troika::commands
