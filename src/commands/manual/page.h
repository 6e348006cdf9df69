// The pages that man shows: one of the program and one of each verb, printed from the tables that --help and docs/settings.md
// are printed from.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"

namespace troika::commands {

// "troika" and the names of all verbs.
std::vector<std::string> manual_pages();

// The page in the macros of man(7). name: "troika", or a verb, which may have "troika-" before and ".1" behind it. ConfigError for
// another, with the nearest.
std::string manual_page(const std::string& name);

// "troika-train.1"
std::string manual_file(const std::string& page);

// The program whose package has the page.

}  // namespace troika::commands
