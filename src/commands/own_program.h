// Where this program is.
#pragma once

#include <string>

namespace troika::commands {

std::string own_program();                            // its path; "/proc/self/exe" where the system does not say
std::string program_beside(const std::string& name);  // of that name, in the same folder

}  // namespace troika::commands
