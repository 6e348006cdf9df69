// `troika metrics RUN`: the numbers of a run's steps for other programs: a table, Prometheus, TensorBoard.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "config/flag_table.h"

namespace troika::commands {

// `arguments`: those after the verb. Returns the text to print. ConfigError: malformed arguments, no such run.
std::string metrics_report(const std::vector<std::string>& arguments, base::Language language);

struct MetricsArguments {
  std::string run;
  bool csv = false;  // also without another form
  bool openmetrics = false;
  std::string tensorboard;  // a folder; "": not asked for
  std::string out;          // a file; "": standard output
};

config::FlagTable metrics_flags(MetricsArguments& a);

}  // namespace troika::commands
