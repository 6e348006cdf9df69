// Memory of this process and of the machine, as Linux reports it, and the control groups that limit it. `proc` and `cgroup` are
// /proc and /sys/fs/cgroup, or other roots in tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika::host {

struct ProcessMemory {
  std::int64_t resident_bytes = 0;
  std::int64_t peak_resident_bytes = 0;
  std::int64_t anonymous_bytes = 0;  // of the resident: not pages of files, which the kernel can drop and read again
};

// From /proc/self/status; zeros if the kernel does not report it.
ProcessMemory process_memory(const std::string& proc = "/proc");

// Bytes that a new allocation can still take: the least of MemAvailable and the room under every cgroup limit (v2 or v1) that holds
// this process. -1 when neither is known.
std::int64_t available_bytes(const std::string& proc = "/proc", const std::string& cgroup = "/sys/fs/cgroup");

// How many processes the kernel has killed for want of memory, a counter: of this process's control group, whichever limit or lack made
// it act, where the group counts (v2, or v1 of Linux 4.13 and later); of the whole host otherwise. -1 when nobody counts.
std::int64_t memory_kills(const std::string& proc = "/proc", const std::string& cgroup = "/sys/fs/cgroup");

// The folders of this process's control group and all its parents, any of which may have a limit: of version 2 and of version 1's `controller`. Folders need not exist.
std::vector<std::string> cgroup_folders(const std::string& proc, const std::string& cgroup,
                                        const std::string& controller);

// "" when it is absent or not readable for this user.
std::string content_or_empty(const std::string& path);

}  // namespace troika::host
