#include "host/cgroup.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace troika::host {

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
