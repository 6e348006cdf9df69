#include "rendezvous/variables.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::rendezvous {

using base::ConfigError;

bool has(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found != environment.end() && !found->second.empty();
}

std::string text_of(const Environment& environment, const std::string& name, const std::string& otherwise) {
  return has(environment, name) ? environment.at(name) : otherwise;
}

int number_of(const Environment& environment, const std::string& name, int otherwise, int low, int high) {
  if (!has(environment, name)) return otherwise;
  std::int64_t value = 0;
  const std::string& text = environment.at(name);
  if (!base::parse_int(text, &value)) throw ConfigError(base::say("{} is '{}' but must be a whole number", name, text));
  if (value < low || value > high) {
    throw ConfigError(base::say("{} is {} but must be between {} and {}", name, value, low, high));
  }
  return static_cast<int>(value);
}

int required(const Environment& environment, const std::string& name, const std::string& because, int low) {
  if (!has(environment, name)) {
    throw ConfigError(
        base::say("{} is not set but {} is: set both, or neither for a single-process run", name, because));
  }
  return number_of(environment, name, 0, low, most_ranks);
}

using base::ConfigError;

namespace {

constexpr std::uint32_t first_own_step = 0xfffffff0;  // in SLURM's slurm.h: SLURM_MAX_NORMAL_STEP_ID

std::uint32_t number32(const Environment& environment, const std::string& name) {
  std::int64_t value = 0;
  const std::string text = text_of(environment, name, "0");
  if (!base::parse_int(text, &value) || value < 0 || value > UINT32_MAX)
    throw ConfigError(base::say("{} is '{}' but must be a whole number from 0 to {}", name, text, UINT32_MAX));
  return static_cast<std::uint32_t>(value);
}

void check(const SlurmStep& me, const std::string& size) {
  const auto below = [](const char* a, int value_a, const std::string& b, int value_b) {
    if (value_a >= value_b)
      throw ConfigError(base::say("{} is {} but must be below {}, which is {}", a, value_a, b, value_b));
  };
  below("SLURM_PROCID", me.rank, size, me.tasks);
  below("SLURM_LOCALID", me.local_rank, "SLURM_STEP_TASKS_PER_NODE", me.local_tasks);
  if (me.local_tasks > me.tasks)
    throw ConfigError(base::say("SLURM_STEP_TASKS_PER_NODE has {} tasks on node {} but {} is only {}", me.local_tasks,
                                me.node, size, me.tasks));
}

}  // namespace

int SlurmStep::port() const { return 20000 + static_cast<int>((job % 1000) * 10 + step % 10); }

std::string slurm_job(const Environment& environment) {
  const std::string job = text_of(environment, "SLURM_JOB_ID", "");
  std::int64_t step = -1;
  const bool in_step =
      base::parse_int(text_of(environment, "SLURM_STEP_ID", ""), &step) && step >= 0 && step < first_own_step;
  return job.empty() || !in_step ? job : fmt::format("{}.{}", job, step);
}

std::optional<SlurmStep> slurm_step(const Environment& environment) {
  if (!has(environment, "SLURM_STEP_ID") || !has(environment, "SLURM_PROCID")) return std::nullopt;
  SlurmStep me;
  me.job = number32(environment, "SLURM_JOB_ID");
  me.step = number32(environment, "SLURM_STEP_ID");
  if (me.step >= first_own_step) return std::nullopt;
  const std::string size = has(environment, "SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  me.rank = required(environment, "SLURM_PROCID", "SLURM_STEP_ID", 0);
  me.tasks = required(environment, size, "SLURM_STEP_ID", 1);
  me.local_rank = number_of(environment, "SLURM_LOCALID", 0, 0, most_ranks);
  me.node = number_of(environment, "SLURM_NODEID", 0, 0, most_ranks);
  const std::string nodes = has(environment, "SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES";
  me.nodes = number_of(environment, nodes, me.node + 1, 1, most_ranks);
  me.local_tasks = slurm_tasks_of_node(
      text_of(environment, "SLURM_STEP_TASKS_PER_NODE", std::to_string(me.local_rank + 1)), me.node);
  me.first_node = slurm_first_host(
      text_of(environment, "SLURM_STEP_NODELIST", text_of(environment, "SLURM_NODELIST", "127.0.0.1")));
  me.restarts = number_of(environment, "SLURM_RESTART_COUNT", 0, 0, INT32_MAX);
  check(me, size);
  return me;
}

std::string slurm_first_host(const std::string& node_list) {
  std::string host;
  for (std::size_t at = 0; at < node_list.size() && node_list[at] != ',';) {
    if (node_list[at] != '[') {
      host += node_list[at++];
      continue;
    }
    const std::size_t close = node_list.find(']', at);
    if (close == std::string::npos)
      throw ConfigError(base::say("the node list '{}' has no closing bracket", node_list));
    const std::size_t stop = node_list.find_first_of(",-]", at + 1);
    host += node_list.substr(at + 1, stop - at - 1);
    at = close + 1;
  }
  if (host.empty()) throw ConfigError(base::say("the node list '{}' names no host", node_list));
  return host;
}

int slurm_tasks_of_node(const std::string& tasks_per_node, int node) {
  std::int64_t first = 0;
  for (const std::string& part : base::split(tasks_per_node, ',')) {
    const auto bracket = part.find("(x");
    std::int64_t tasks = 0, repeats = 1;
    bool good = base::parse_int(part.substr(0, bracket), &tasks) && tasks > 0 && tasks <= most_ranks;
    if (bracket != std::string::npos) {
      good = good && part.back() == ')' &&
             base::parse_int(part.substr(bracket + 2, part.size() - bracket - 3), &repeats) && repeats > 0 &&
             repeats <= most_ranks;
    }
    if (!good)
      throw ConfigError(
          base::say("SLURM_STEP_TASKS_PER_NODE is '{}', which is not a list like 2(x3),1", tasks_per_node));
    if (node < first + repeats) return static_cast<int>(tasks);
    first += repeats;
  }
  throw ConfigError(base::say("SLURM_STEP_TASKS_PER_NODE is '{}', which has no node {}", tasks_per_node, node));
}

}  // namespace troika::rendezvous
