// The environment that a launcher or SLURM left. A variable that is set to nothing counts as not set.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace troika::rendezvous {

using Environment = std::map<std::string, std::string>;

inline constexpr int most_ranks = 1 << 24;

bool has(const Environment& environment, const std::string& name);
std::string text_of(const Environment& environment, const std::string& name, const std::string& otherwise);

// The variable as a number in [low, high]; `otherwise` when it is not set. ConfigError names the variable.
int number_of(const Environment& environment, const std::string& name, int otherwise, int low, int high);

// The variable as a number from `low` to most_ranks; ConfigError where it is missing though `because` is set.
int required(const Environment& environment, const std::string& name, const std::string& because, int low);

// The variables that srun sets for each task of a step, and SLURM's compressed lists (srun(1), "OUTPUT ENVIRONMENT VARIABLES").
struct SlurmStep {
  int rank = 0;  // of this task
  int tasks = 1;
  int local_rank = 0;  // among the tasks of this node
  int local_tasks = 1;
  int node = 0;  // of this task, among the nodes of the step
  int nodes = 1;
  std::string first_node;  // where task 0 is
  std::uint32_t job = 0, step = 0;
  int restarts = 0;  // how often the job was queued again

  // Jobs that share a node must not meet at one port, so it comes from the numbers of job and step: 20000 to 29999.
  int port() const;
};

// The step that this process is a task of. Nothing outside of steps: in the script of sbatch, which has no step, and in the steps
// that SLURM makes for itself (a batch script, an interactive shell, 4294967280 and above), whose process is nobody's task.
// ConfigError names a variable that is malformed or contradicts another.
std::optional<SlurmStep> slurm_step(const Environment& environment);

// The job and step that this process is in, whoever started it there: "71.0"; "71" outside of steps, as in a batch script, which
// no signal of `sbatch --signal` reaches unless it has `B:`; "" in no job.
std::string slurm_job(const Environment& environment);

// The first host of a node list: "node[003-007,12],login" -> "node003", "rack[0-1]node[1-2]" -> "rack0node1". ConfigError
// when malformed.
std::string slurm_first_host(const std::string& node_list);

// How many tasks node `node` has: "2(x3),1" holds 2 for nodes 0 to 2 and 1 for node 3. Throws ConfigError when
// malformed.
int slurm_tasks_of_node(const std::string& tasks_per_node, int node);

}  // namespace troika::rendezvous
