// The command line of `troika monitor`.
#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::commands {

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
