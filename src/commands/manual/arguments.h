// The command line of `troika manual`.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

struct ManualArguments {
  std::string page;  // "troika", or a verb with or without "troika-" before and ".1" behind
  std::string out;   // "": the page is printed
};

config::FlagTable manual_flags(ManualArguments& a);
ManualArguments parse_manual_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
