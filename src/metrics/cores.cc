#include "metrics/cores.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <thread>

#include "base/text.h"
#include "metrics/cgroup.h"

namespace troika::metrics {

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

// `quota` and `period` in microseconds, as texts; 0 for "max", -1 and anything else.
static int cores_of(const std::string& quota, const std::string& period) {
  std::int64_t per_period = 0, length = 0;
  if (!base::parse_int(base::trim(quota), &per_period) || !base::parse_int(base::trim(period), &length)) return 0;
  if (per_period <= 0 || length <= 0) return 0;
  return static_cast<int>((per_period + length - 1) / length);
}

int quota_cores_in(const std::string& proc, const std::string& cgroup) {
  int least = 0;
  for (const std::string& folder : cgroup_folders(proc, cgroup, "cpu")) {
    const auto words = base::split(base::trim(content_or_empty(folder + "/cpu.max")), ' ');
    const int here = words.size() == 2 ? cores_of(words[0], words[1])
                                       : cores_of(content_or_empty(folder + "/cpu.cfs_quota_us"),
                                                  content_or_empty(folder + "/cpu.cfs_period_us"));
    if (here > 0) least = least == 0 ? here : std::min(least, here);
  }
  return least;
}

int usable_cores() {
  const auto allowed = static_cast<int>(allowed_cores().size());
  const int cores = allowed > 0 ? allowed : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int quota = quota_cores_in("/proc", "/sys/fs/cgroup");
  return quota > 0 ? std::min(cores, quota) : cores;
}

std::string format_cores(const std::vector<int>& cores) {
  std::vector<std::string> parts;
  for (std::size_t first = 0, next = 0; first < cores.size(); first = next) {
    next = first + 1;
    while (next < cores.size() && cores[next] == cores[next - 1] + 1) ++next;
    const std::string begin = std::to_string(cores[first]);
    parts.push_back(next == first + 1 ? begin : begin + "-" + std::to_string(cores[next - 1]));
  }
  return base::join(parts, ",");
}

}  // namespace troika::metrics
