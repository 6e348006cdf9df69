// Memory of this process and of the machine, as Linux reports it.
#pragma once

#include <cstdint>
#include <string>

namespace troika::host {

struct ProcessMemory {
  std::int64_t resident_bytes = 0;
  std::int64_t peak_resident_bytes = 0;
  std::int64_t anonymous_bytes = 0;  // of the resident: not pages of files, which the kernel can drop and read again
};

// From /proc/self/status; zeros if the kernel does not report it.
ProcessMemory process_memory();

// What a new allocation can still take: the least of MemAvailable and the room under every cgroup limit (v2 or v1) that
// holds this process. -1 when nothing can be told.
std::int64_t available_bytes();

// How many processes the kernel has killed for want of memory, a counter: of this process's control group, whichever limit or lack made
// it act, where the group counts (v2, or v1 of Linux 4.13 and later); of the whole host otherwise. -1 when nobody counts.
std::int64_t memory_kills();

// The same below other roots, for tests: `proc` in place of /proc, `cgroup` in place of /sys/fs/cgroup.
ProcessMemory process_memory_in(const std::string& proc);
std::int64_t available_bytes_in(const std::string& proc, const std::string& cgroup);
std::int64_t memory_kills_in(const std::string& proc, const std::string& cgroup);

}  // namespace troika::host
