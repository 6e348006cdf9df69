// The host that plans, as a cluster of one, and the machines of a run, from what its ranks tell of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "machine/cluster.h"
#include "schedule/trace/trace.h"

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
// a profile. ConfigError for files that are wrong.
ThisMachine this_machine(const std::string& machine_file);

// The first so many accelerators of this host, by the profile that has the name `model`, which their driver gives them;
// ConfigError where none has.
ThisMachine accelerators_of_this_machine(const std::string& model, int devices);

// A dense product in fp32 that a rank ran while the others did: what rates of a profile are scaled to.
struct TimedProduct {
  double flops = 0, bytes = 0;
  double seconds = 0;  // 0: none was run
};

// The text that the first rank of each host sends of it; every other rank sends "". `ranks` of them are on the host.
std::string tell_machine(const ThisMachine& here, int ranks, const TimedProduct& product);
// The text of a rank whose machine is not known.
std::string tell_no_machine(const base::Text& why);

struct RunMachines {
  machine::Cluster cluster;
  int ranks_per_host = 0;
  base::Text why_none;  // empty: all is known; else why nothing can be predicted
};

// `told` by world rank. `link`: as the run measured it between neighbours, of ranks on one host where there is one. Hosts that
// are alike become one entry of the cluster.
RunMachines machines_of_run(const std::vector<std::string>& told, const schedule::Link& link);

}  // namespace troika::planner
