#include "host/memory.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "base/text.h"
#include "host/cgroup.h"

namespace troika::host {

// "Key:   123 kB" in a file of such lines, in bytes; -1 when absent.
static std::int64_t kilobytes_line(const std::string& content, const std::string& key) {
  for (const std::string& line : base::split(content, '\n')) {
    if (line.rfind(key + ":", 0) != 0) continue;
    std::istringstream numbers(line.substr(key.size() + 1));
    std::int64_t kilobytes = 0;
    return numbers >> kilobytes ? kilobytes * 1024 : -1;
  }
  return -1;
}

// A file with one number; -1 for "max", anything else and absence.
static std::int64_t number_file(const std::string& path) {
  std::int64_t value = 0;
  return base::parse_int(base::trim(content_or_empty(path)), &value) ? value : -1;
}

ProcessMemory process_memory_in(const std::string& proc) {
  const std::string status = content_or_empty(proc + "/self/status");
  return {std::max<std::int64_t>(kilobytes_line(status, "VmRSS"), 0),
          std::max<std::int64_t>(kilobytes_line(status, "VmHWM"), 0)};
}

static std::int64_t room(const std::string& limit_file, const std::string& usage_file) {
  const std::int64_t limit = number_file(limit_file), usage = number_file(usage_file);
  return limit < 0 || usage < 0 ? -1 : std::max<std::int64_t>(limit - usage, 0);
}

static std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); }

std::int64_t available_bytes_in(const std::string& proc, const std::string& cgroup) {
  std::int64_t least = kilobytes_line(content_or_empty(proc + "/meminfo"), "MemAvailable");
  for (const std::string& folder : cgroup_folders(proc, cgroup, "memory")) {
    least = lesser(least, room(folder + "/memory.max", folder + "/memory.current"));
    least = lesser(least, room(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes"));
  }
  return least;
}

ProcessMemory process_memory() { return process_memory_in("/proc"); }
std::int64_t available_bytes() { return available_bytes_in("/proc", "/sys/fs/cgroup"); }

}  // namespace troika::host
