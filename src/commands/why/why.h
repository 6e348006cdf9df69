// `troika why RUN_DIR`: why a run failed, is slow or does not learn, and what to change.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

// The text to print. ConfigError: malformed arguments, no such folder, or one without anything of a run.
std::string why_report(const Call& call);

// The command line of `troika why`.
struct WhyArguments {
  std::string run_dir;
  bool json = false;
};

config::FlagTable why_flags(WhyArguments& a);
WhyArguments parse_why_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
