// The verb `eval`.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/config.h"

namespace troika::commands {

// Returns the exit code.
int run_eval(const Call& call);

// The command line of `troika eval`: the settings of train, and these.
struct EvalArguments {
  bool json = false;
  std::string logits;  // a file to write; empty: none
  config::ParsedSettings parsed;
};

config::FlagTable eval_flags(EvalArguments& a);
EvalArguments parse_eval_arguments(const std::vector<std::string>& words, const config::Environment& environment);

}  // namespace troika::commands
