// The command line of `troika demo`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::commands {

struct DemoArguments {
  std::string folder = "troika-demo";
  std::int64_t steps = 700;
  std::vector<std::string> texts;  // empty: what this machine has
  bool only_data = false;
};

config::FlagTable demo_flags(DemoArguments& a);
DemoArguments parse_demo_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
