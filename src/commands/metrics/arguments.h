// The command line of `troika metrics`.
#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::commands {

struct MetricsArguments {
  std::string run;
  bool csv = false;  // also without another form
  bool openmetrics = false;
  std::string tensorboard;  // a folder; "": not asked for
  std::string out;          // a file; "": standard output
};

config::FlagTable metrics_flags(MetricsArguments& a);
MetricsArguments parse_metrics_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
