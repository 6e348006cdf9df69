// The command line and the environment, read into layers.
//
// The table drives the parser; no argument library stands between. Reasons: all errors are reported together (CLI11
// stops at the first), the value behind an unknown or ignored flag is never printed (CLI11 quotes it, and it may be a
// password), and time: 75 options with four names each cost CLI11 2.1 about 1.5 ms on a 2-core x86 machine, of the 2 ms
// that reading settings may take.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/layers.h"

namespace troika::config {

struct CommandLine {
  Layer layer;
  std::string file;  // the YAML file, "" when none is named
  bool print_config = false;
  bool help = false;
};

// `arguments` are those after the verb. `--name value`, `--name=value`, `name=value`; a flag of a true/false setting
// alone means true. `--deepspeed FILE` gives the settings of DeepSpeed's JSON (deepspeed.h).
CommandLine read_command_line(const std::vector<std::string>& arguments);

// The variables of the table. An empty variable counts as absent.
Layer read_environment(const Environment& environment);

}  // namespace troika::config
