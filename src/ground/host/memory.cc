#include "host/memory.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

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

// "key 123" in a file of such lines.
static std::int64_t counter(const std::string& content, const std::string& key, std::int64_t absent = 0) {
  std::istringstream lines(content);
  std::string name;
  for (std::int64_t value = 0; lines >> name >> value;)
    if (name == key) return value;
  return absent;
}

// A file with one number; -1 for "max", anything else and absence.
static std::int64_t number_file(const std::string& path) {
  std::int64_t value = 0;
  return base::parse_int(base::trim(content_or_empty(path)), &value) ? value : -1;
}

ProcessMemory process_memory(const std::string& proc) {
  const std::string status = content_or_empty(proc + "/self/status");
  return {std::max<std::int64_t>(kilobytes_line(status, "VmRSS"), 0),
          std::max<std::int64_t>(kilobytes_line(status, "VmHWM"), 0),
          std::max<std::int64_t>(kilobytes_line(status, "RssAnon"), 0)};
}

// Pages of files count as used until the limit needs them; `total` begins their names in memory.stat of version 1.
static std::int64_t room(const std::string& folder, const char* limit_name, const char* usage_name, const char* total) {
  const std::int64_t limit = number_file(folder + limit_name), usage = number_file(folder + usage_name);
  if (limit < 0 || usage < 0) return -1;
  const std::string statistics = content_or_empty(folder + "/memory.stat");
  const std::int64_t files = counter(statistics, std::string(total) + "active_file") +
                             counter(statistics, std::string(total) + "inactive_file");
  return std::max<std::int64_t>(limit - std::max<std::int64_t>(usage - files, 0), 0);
}

static std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); }

std::int64_t available_bytes(const std::string& proc, const std::string& cgroup) {
  std::int64_t least = kilobytes_line(content_or_empty(proc + "/meminfo"), "MemAvailable");
  for (const std::string& folder : cgroup_folders(proc, cgroup, "memory")) {
    least = lesser(least, room(folder, "/memory.max", "/memory.current", ""));
    least = lesser(least, room(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_"));
  }
  return least;
}

// The innermost group that counts: version 2 adds up what is below, version 1 does not, and the root of version 2 has no such file.
std::int64_t memory_kills(const std::string& proc, const std::string& cgroup) {
  for (const std::string& folder : cgroup_folders(proc, cgroup, "memory")) {
    for (const char* file : {"/memory.events", "/memory.oom_control"}) {
      const std::int64_t kills = counter(content_or_empty(folder + file), "oom_kill", -1);
      if (kills >= 0) return kills;
    }
  }
  return counter(content_or_empty(proc + "/vmstat"), "oom_kill", -1);
}

std::string content_or_empty(const std::string& path) {
  try {
    return base::file_exists(path) ? base::read_file(path) : "";
  } catch (const base::DataError&) {  // not readable for this user: as if absent
    return "";
  }
}

// `path` is "/a/b" below `root`.
static void add_with_parents(const std::string& root, std::string path, std::vector<std::string>& folders) {
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    folders.push_back(root + path);
    if (path.empty()) return;
    path.erase(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

std::vector<std::string> cgroup_folders(const std::string& proc, const std::string& cgroup,
                                        const std::string& controller) {
  std::vector<std::string> folders;
  for (const std::string& line : base::split(content_or_empty(proc + "/self/cgroup"), '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    const auto controllers = base::split(line.substr(first + 1, second - first - 1), ',');
    if (controllers.empty()) add_with_parents(cgroup, path, folders);
    if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end())
      add_with_parents(cgroup + "/" + controller, path, folders);
  }
  return folders;
}

}  // namespace troika::host
