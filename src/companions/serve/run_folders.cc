#include "serve/run_folders.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "monitor/find_run.h"

namespace troika::serve {
namespace {

constexpr int deepest_run = 4;  // sweep/host-1/runs/NAME
constexpr int most_folders_walked = 10'000;

enum class Kind { none, file, folder, other };

Kind kind_of(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return Kind::none;
  return S_ISREG(facts.st_mode) ? Kind::file : S_ISDIR(facts.st_mode) ? Kind::folder : Kind::other;
}

bool may_be_shown(const std::string& name) {
  const bool plain = std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return plain && name.front() != '.' && base::is_utf8(name);
}

std::vector<std::string> names_or_none(const std::string& folder) {
  try {
    return base::list_directory(folder);
  } catch (const base::DataError&) {  // may not be read
    return {};
  }
}

class RunWalk {
 public:
  RunFolders found;

  // `name` is that of the folder, "" of the one that is served; `depth`: how many levels there are still below it.
  void look_into(const std::string& name, const std::string& path, int depth) {
    for (const std::string& part : names_or_none(path)) {
      const std::string below = path + "/" + part;
      if (left_ <= 0 || !may_be_shown(part) || kind_of(below) != Kind::folder) continue;
      --left_;
      const std::string full = name.empty() ? part : name + "/" + part;
      if (!take(full, below) && depth > 1) look_into(full, below, depth - 1);
    }
  }

  // Whether it is a run, so that nothing is looked for inside.
  bool take(const std::string& name, const std::string& path) {
    if (is_served_run(path)) {
      found.runs.push_back({name, path});
      return true;
    }
    if (kind_of(path + "/sweep.json") == Kind::file) found.sweeps.push_back({name, path});
    return false;
  }

 private:
  int left_ = most_folders_walked;
};

}  // namespace

bool is_served_run(const std::string& folder) {
  for (const char* file : {"state.json", "metrics.jsonl", "events.jsonl", "run.log", "run.lock"})
    if (const Kind kind = kind_of(folder + "/" + file); kind != Kind::file && kind != Kind::none) return false;
  if (const Kind kind = kind_of(folder + "/records"); kind != Kind::folder && kind != Kind::none) return false;
  return monitor::is_run(folder) || kind_of(folder + "/launch.yaml") == Kind::file;
}

RunFolders run_folders_below(const std::string& folder) {
  RunWalk walk;
  if (!walk.take(folder.substr(folder.rfind('/') + 1), folder)) walk.look_into("", folder, deepest_run);
  const auto by_name = [](const NamedFolder& a, const NamedFolder& b) { return a.name < b.name; };
  std::sort(walk.found.runs.begin(), walk.found.runs.end(), by_name);
  std::sort(walk.found.sweeps.begin(), walk.found.sweeps.end(), by_name);
  return std::move(walk.found);
}

}  // namespace troika::serve
