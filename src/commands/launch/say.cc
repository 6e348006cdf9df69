#include "commands/launch/say.h"

#include <cstdio>

namespace troika::commands {

void launcher_says(const std::string& text) { std::fprintf(stderr, "troika launch: %s\n", text.c_str()); }

}  // namespace troika::commands
