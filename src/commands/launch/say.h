// What a launcher tells its user.
#pragma once

#include <string>

namespace troika::commands {

void launcher_says(const std::string& text);  // one line on standard error

}  // namespace troika::commands
