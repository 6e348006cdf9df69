// The control groups that hold this process: any of them may have a limit.
#pragma once

#include <string>
#include <vector>

namespace troika::host {

// Folders of the process's group and all its parents, of version 2 and of version 1's `controller`. `proc` and `cgroup` are
// /proc and /sys/fs/cgroup, or other roots in tests. Folders need not exist.
std::vector<std::string> cgroup_folders(const std::string& proc, const std::string& cgroup,
                                        const std::string& controller);

// "" when it is absent or not readable for this user.
std::string content_or_empty(const std::string& path);

}  // namespace troika::host
