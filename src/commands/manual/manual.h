// `troika manual`: the pages that man shows, printed or written.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

// Returns what is to be printed: a page, or "" where all have been written. ConfigError, DataError.
std::string manual_report(const Call& call);

struct ManualArguments {
  std::string page;  // "troika", or a verb with or without "troika-" before and ".1" behind
  std::string out;   // "": the page is printed
};

config::FlagTable manual_flags(ManualArguments& a);

}  // namespace troika::commands
