#include "serve/run_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace troika::serve {
namespace {

namespace fs = std::filesystem;

std::string target_of(const std::string& link) {
  std::error_code error;
  return fs::read_symlink(link, error).string();
}

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

bool is_troika(std::int64_t pid) {
  constexpr std::string_view replaced = " (deleted)";  // by a newer one, since it started
  std::string program = target_of(fmt::format("/proc/{}/exe", pid));
  const std::size_t before = program.size() - std::min(program.size(), replaced.size());
  if (program.compare(before, std::string::npos, replaced) == 0) program.resize(before);
  return fs::path(program).filename() == "troika";
}

// As the kernel names it: a link or a second name elsewhere does not count.
bool has_open(std::int64_t pid, const std::string& folder) {
  const std::string descriptors = fmt::format("/proc/{}/fd", pid);
  std::error_code error;
  for (fs::directory_iterator at(descriptors, error), end; !error && at != end; at.increment(error)) {
    const std::string path = target_of(at->path().string());
    if (path == folder + "/launch.lock" || path == folder + "/run.lock" || begins_with(path, folder + "/logs/"))
      return true;
  }
  return false;
}

std::vector<std::int64_t> children_of(std::int64_t pid) {
  std::vector<std::int64_t> children;
  std::error_code error;
  const std::string threads = fmt::format("/proc/{}/task", pid);
  for (fs::directory_iterator at(threads, error), end; !error && at != end; at.increment(error)) {
    try {
      std::istringstream words(base::read_file(at->path().string() + "/children"));
      for (std::int64_t child = 0; words >> child;) children.push_back(child);
    } catch (const base::DataError&) {  // the thread has ended, or the kernel does not tell
    }
  }
  return children;
}

}  // namespace

bool writes_run(std::int64_t pid, const std::string& run_folder) {
  std::error_code error;
  const std::string folder = fs::canonical(run_folder, error).string();
  if (error || !is_troika(pid)) return false;
  if (has_open(pid, folder)) return true;
  const std::vector<std::int64_t> children = children_of(pid);
  return std::any_of(children.begin(), children.end(),
                     [&](std::int64_t child) { return is_troika(child) && has_open(child, folder); });
}

}  // namespace troika::serve
