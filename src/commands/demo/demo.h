// `troika demo`: from text of this machine to a trained model in two layouts, by the commands that a user would type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

// Returns 0, 130 when stopped, or the code of the command that failed, which has said why.
// ConfigError: the folder holds something else, cannot be written, or has no room; no text.
int run_demo(const Call& call);

struct DemoArguments {
  std::string folder = "troika-demo";
  std::int64_t steps = 700;
  std::vector<std::string> texts;  // empty: what this machine has
  bool only_data = false;
};

config::FlagTable demo_flags(DemoArguments& a);

}  // namespace troika::commands
