// `troika probe`: measures this host, or as a launched rank the cluster, and writes a machine file.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

struct ProbeArguments {
  std::string out;        // the machine file to write; empty: it is printed
  std::string csv;        // a file of what was timed; empty: none
  double seconds = 12;    // for the kernels of a host; everything else takes some seconds more
  std::string interface;  // of the network; empty: as comm.interface says
};

config::FlagTable probe_flags(ProbeArguments& a);
ProbeArguments parse_probe_arguments(const std::vector<std::string>& words);  // ConfigError

int run_probe(const Call& call);

}  // namespace troika::commands
