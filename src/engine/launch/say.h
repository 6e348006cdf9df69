// What a launcher tells its user.
#pragma once

#include <string>

namespace troika::launch {

void says(const std::string& command, const std::string& text);  // one line on standard error: "troika launch: ..."
void launcher_says(const std::string& text);                     // of `troika launch`

}  // namespace troika::launch
