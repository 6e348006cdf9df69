#include "commands/launch/say.h"

#include <cstdio>

namespace troika::commands {

void says(const std::string& command, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", command.c_str(), text.c_str());
}

void launcher_says(const std::string& text) { says("troika launch", text); }

}  // namespace troika::commands
