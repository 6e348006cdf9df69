// The command line of `troika probe`.
#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::probe {

struct ProbeArguments {
  std::string out;        // the machine file to write; empty: it is printed
  std::string csv;        // a file of what was timed; empty: none
  double seconds = 12;    // for the kernels of a host; everything else takes some seconds more
  std::string interface;  // of the network; empty: as comm.interface says
};

config::FlagTable probe_flags(ProbeArguments& a);
ProbeArguments parse_probe_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::probe
