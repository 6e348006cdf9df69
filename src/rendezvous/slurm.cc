#include "rendezvous/slurm.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/error.h"
#include "base/text.h"

namespace troika::rendezvous {

std::string slurm_first_host(const std::string& node_list) {
  const auto end = node_list.find_first_of(",[");
  if (end == std::string::npos || node_list[end] == ',') return node_list.substr(0, end);
  const auto stop = node_list.find_first_of(",-]", end + 1);
  const auto close = node_list.find(']', end);
  if (stop == std::string::npos || close == std::string::npos) {
    throw base::ConfigError(fmt::format("the node list '{}' has no closing bracket", node_list));
  }
  const std::string suffix = node_list.substr(close + 1, node_list.find(',', close) - close - 1);
  return node_list.substr(0, end) + node_list.substr(end + 1, stop - end - 1) + suffix;
}

int slurm_tasks_of_node(const std::string& tasks_per_node, int node) {
  int first = 0;
  for (const std::string& part : base::split(tasks_per_node, ',')) {
    const auto bracket = part.find("(x");
    std::int64_t tasks = 0, repeats = 1;
    bool good = base::parse_int(part.substr(0, bracket), &tasks) && tasks > 0;
    if (bracket != std::string::npos) {
      good =
          good && part.back() == ')' && base::parse_int(part.substr(bracket + 2, part.size() - bracket - 3), &repeats);
    }
    if (!good)
      throw base::ConfigError(
          fmt::format("SLURM_STEP_TASKS_PER_NODE is '{}', which is not a list like 2(x3),1", tasks_per_node));
    if (node < first + repeats) return static_cast<int>(tasks);
    first += static_cast<int>(repeats);
  }
  throw base::ConfigError(fmt::format("SLURM_STEP_TASKS_PER_NODE is '{}', which has no node {}", tasks_per_node, node));
}

}  // namespace troika::rendezvous
