// The command line of `troika why`.
#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::commands {

struct WhyArguments {
  std::string run_dir;
  bool json = false;
};

config::FlagTable why_flags(WhyArguments& a);
WhyArguments parse_why_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
