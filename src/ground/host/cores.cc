#include "host/cores.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <thread>

#include "base/text.h"
#include "host/memory.h"

namespace troika::host {

static std::vector<int> numbers_of(const cpu_set_t& set) {
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

static cpu_set_t set_of(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  return set;
}

static std::vector<int> allowed_cores_of(pid_t process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(process, sizeof set, &set) != 0) return {};
  return numbers_of(set);
}

// The cores that start_threads_on() has set; empty: new threads inherit the cores of the thread that starts them.
static std::vector<int> cores_of_new_threads() {
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return {};
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = ::pthread_attr_getaffinity_np(&attributes, sizeof set, &set) == 0;
  ::pthread_attr_destroy(&attributes);
  return known && CPU_COUNT(&set) < CPU_SETSIZE ? numbers_of(set)
                                                : std::vector<int>{};  // glibc: all there can be, unset
}

std::vector<int> allowed_cores() {
  const std::vector<int> stated = cores_of_new_threads();
  return stated.empty() ? allowed_cores_of(0) : stated;
}

void start_threads_on(const std::vector<int>& cores) {
  if (cores.empty()) return;
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return;
  const cpu_set_t set = set_of(cores);
  if (::pthread_attr_setaffinity_np(&attributes, sizeof set, &set) == 0) ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

static void allow_cores(const std::vector<int>& cores) {
  if (cores.empty()) return;
  const cpu_set_t set = set_of(cores);
  ::sched_setaffinity(0, sizeof set, &set);
}

CoresOfLauncher::CoresOfLauncher() : of_thread_(allowed_cores_of(0)), of_new_threads_(cores_of_new_threads()) {
  const std::vector<int> all = allowed_cores_of(::getppid());
  if (all.size() > of_thread_.size()) allow_cores(all);
  if (!of_new_threads_.empty() && all.size() > of_new_threads_.size()) start_threads_on(all);
}

CoresOfLauncher::~CoresOfLauncher() {
  allow_cores(of_thread_);
  start_threads_on(of_new_threads_);
}

// `quota` and `period` in microseconds, as texts; 0 for "max", -1 and anything else.
static int cores_of(const std::string& quota, const std::string& period) {
  std::int64_t per_period = 0, length = 0;
  if (!base::parse_int(base::trim(quota), &per_period) || !base::parse_int(base::trim(period), &length)) return 0;
  if (per_period <= 0 || length <= 0) return 0;
  return static_cast<int>((per_period + length - 1) / length);
}

int quota_cores(const std::string& proc, const std::string& cgroup) {
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

int share_of_cores(int own, int all, int quota, int ranks) {
  const int cores = std::min(own, std::max(1, std::max(own, all) / ranks));
  return quota > 0 ? std::min(cores, std::max(1, quota / ranks)) : cores;
}

// The launcher is the parent. Its cores, not the host's: a container or a job may have fewer, which its ranks share.
int usable_cores_of_rank(int ranks) {
  const auto allowed = static_cast<int>(allowed_cores().size());
  const int own = allowed > 0 ? allowed : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto all = static_cast<int>(allowed_cores_of(::getppid()).size());
  return share_of_cores(own, all, quota_cores(), ranks);
}

int usable_cores() { return usable_cores_of_rank(1); }

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

}  // namespace troika::host
