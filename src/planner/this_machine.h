// The host that plans, as a cluster of one.
#pragma once

#include <map>
#include <string>

#include "machine/cluster.h"

namespace troika::planner {

// Where `troika probe` leaves what it measured of a host, and calibration what a run did: $XDG_CONFIG_HOME/troika/machine.yaml,
// else below ~/.config; "" where the environment names neither.
std::string machine_file(const std::map<std::string, std::string>& environment);

// From that file, with the memory that is free now; without one, this host's cores with the rates of a profile, and `source`
// says so.
machine::Cluster this_machine(const std::map<std::string, std::string>& environment);

}  // namespace troika::planner
