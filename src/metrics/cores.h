// Processor cores that this process may use, as Linux reports them.
#pragma once

#include <string>
#include <vector>

namespace troika::metrics {

// Numbers of the cores that the process may run on, ascending; empty when the system does not tell.
std::vector<int> allowed_cores();

// How many of them can work at a time: less than their number under a cgroup's CPU quota (rounded up). At least 1.
int usable_cores();

// "0-3,6".
std::string format_cores(const std::vector<int>& cores);

// The least quota below other roots than /proc and /sys/fs/cgroup, in cores; 0: none. For tests.
int quota_cores_in(const std::string& proc, const std::string& cgroup);

}  // namespace troika::metrics
