// The host that plans, as a cluster of one.
#pragma once

#include <map>
#include <string>

#include "machine/cluster.h"

namespace troika::planner {

// Where `troika probe` leaves what it measured of a host, and runs what they took there (machine/calibration.h):
// $XDG_CONFIG_HOME/troika/machine.yaml, else below ~/.config; "" where the environment names neither.
std::string machine_file(const std::map<std::string, std::string>& environment);

struct ThisMachine {
  enum class Rates { probed, of_a_profile };
  machine::Cluster cluster;
  Rates rates = Rates::of_a_profile;
};

// From that file as runs have calibrated it, with the memory that is free now; without one, this host's cores with the rates of
// a profile, and `source` says so. ConfigError for files that are wrong.
ThisMachine this_machine(const std::string& machine_file);

// The first so many accelerators of this host, by the profile that has the name `model`, which their driver gives them;
// ConfigError where none has.
ThisMachine accelerators_of_this_machine(const std::string& model, int devices);

}  // namespace troika::planner
