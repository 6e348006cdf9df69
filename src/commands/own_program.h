// Where this program is.
#pragma once

#include <string>

namespace troika::commands {

std::string own_program();                            // its path; "/proc/self/exe" where the system does not say
std::string program_beside(const std::string& name);  // of that name, in the same folder
std::string engine_program();                         // troika-engine; ConfigError where it is not there

}  // namespace troika::commands
