// `troika monitor`: a run as it goes, on a screen, as lines, as text or as JSON.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

// Only reads: whatever becomes of it, the run continues. On a terminal until q or Ctrl-C, elsewhere until the run is over. 0.
// ConfigError: malformed arguments, no run where they say.
int run_monitor(const Call& call);

// The command line of `troika monitor`.
struct MonitorArguments {
  std::string run;  // "": the run below ./runs that changed last
  std::string log;  // a file of a run; "": not given
  double interval_seconds = 2;
  bool once = false;
  bool json = false;

  const std::string& path() const { return run.empty() ? log : run; }  // what names the run; "": nothing does
};

config::FlagTable monitor_flags(MonitorArguments& a);
MonitorArguments parse_monitor_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
