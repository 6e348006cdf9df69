// The machines of a run, from what its ranks tell of them.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "machine/cluster.h"
#include "planner/this_machine.h"
#include "schedule/simulate/link.h"

namespace troika::planner {

// A dense product in fp32 that a rank ran while the others did: what rates of a profile are scaled to.
struct TimedProduct {
  double flops = 0, bytes = 0;
  double seconds = 0;  // 0: none was run
};

// The text that the first rank of each host sends of it; every other rank sends "". `ranks` of them are on the host.
std::string tell_machine(const ThisMachine& here, int ranks, const TimedProduct& product);
// What a rank sends whose machine is not known: a sentence.
std::string tell_no_machine(const std::string& why);

struct RunMachines {
  machine::Cluster cluster;
  int ranks_per_host = 0;
  base::Text why_none;  // empty: all is known; else why nothing can be predicted
};

// `told` by world rank. `link`: as the run measured it between neighbours, of ranks on one host where there is one. Hosts that
// are alike become one entry of the cluster.
RunMachines machines_of_run(const std::vector<std::string>& told, const schedule::Link& link);

}  // namespace troika::planner
