// Processor cores that this process may use, as Linux reports them.
#pragma once

#include <string>
#include <vector>

namespace troika::host {

// Numbers of the cores that the process may run on, ascending; empty if the system does not report it. Those of
// start_threads_on(), where it was called, else those of the calling thread.
std::vector<int> allowed_cores();

// From now on threads start on these cores and not on those of the thread that starts them: OpenMP, told to bind its threads
// (OMP_PROC_BIND), binds the main thread to a core of its own while the program is loaded, and what works beside training
// would share that core with it. Nothing changes when `cores` is empty. Of the whole process, so for main() alone.
void start_threads_on(const std::vector<int>& cores);

// How many of them can work at a time: less than their number under a cgroup's CPU quota (rounded up). At least 1.
int usable_cores();

// Those that one of `ranks` ranks of this host should use, one of which is this process. At least 1.
int usable_cores_of_rank(int ranks);

// The rule of it. A rank that its launcher bound to `own` of the `all` cores that the launcher has is not given less of them
// because of its neighbours; ranks that may run on all of them share them. A quota (0: none) holds for all ranks together.
int share_of_cores(int own, int all, int quota, int ranks);

// While it lives, the calling thread and those that it starts may run on all cores of the process that started this
// one: for work that one rank does while the others of its host wait. Nothing changes where the system does not allow it.
class CoresOfLauncher {
 public:
  CoresOfLauncher();
  ~CoresOfLauncher();
  CoresOfLauncher(const CoresOfLauncher&) = delete;
  CoresOfLauncher& operator=(const CoresOfLauncher&) = delete;

 private:
  const std::vector<int> of_thread_, of_new_threads_;
};

// "0-3,6".
std::string format_cores(const std::vector<int>& cores);

// The least quota, in cores; 0: none. `proc` and `cgroup` are other roots in tests.
int quota_cores(const std::string& proc = "/proc", const std::string& cgroup = "/sys/fs/cgroup");

}  // namespace troika::host
