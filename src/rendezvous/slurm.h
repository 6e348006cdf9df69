// SLURM's compressed lists, as srun leaves them in the environment.
#pragma once

#include <string>

namespace troika::rendezvous {

// The first host of a node list: "node[003-007,12],login" -> "node003".
std::string slurm_first_host(const std::string& node_list);

// How many tasks node `node` has: "2(x3),1" holds 2 for nodes 0 to 2 and 1 for node 3. Throws ConfigError when
// malformed.
int slurm_tasks_of_node(const std::string& tasks_per_node, int node);

}  // namespace troika::rendezvous
