#include "launch/say.h"

#include <cstdio>

#include "base/terminal_text.h"

namespace troika::launch {

void says(const std::string& command, const std::string& text) {
  base::put(command + ": " + text + "\n", stderr);
}

void launcher_says(const std::string& text) { says("troika launch", text); }

}  // namespace troika::launch
