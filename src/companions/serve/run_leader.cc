#include "serve/run_control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/text.h"
#include "records/line_file.h"
#include "records/folder_lock.h"
#include "records/run_reader.h"

namespace troika::serve {
namespace {

constexpr std::int64_t tail_of_events = 4 << 20;

// The folder's claim counts for nothing where the process does not write the run: anybody may have put it there.
bool is_here(const RunLeader& leader, const std::string& run_folder) {
  if (leader.host != base::host_name()) return false;
  const host::HeldProcess process(leader.id);  // held, so that it is the same one that is looked at
  return process.found() && writes_run(leader.id.pid, run_folder);
}

// Host, process and its start, as the holder of the lock has written them (train/run_lock.h).
std::vector<std::string> lines_of_lock(const std::string& run_folder) {
  const int lock = ::open((run_folder + "/run.lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (lock < 0) return {};
  char text[1024];
  const ssize_t count = ::read(lock, text, sizeof text);
  ::close(lock);
  return count <= 0 ? std::vector<std::string>{} : base::split({text, static_cast<std::size_t>(count)}, '\n');
}

std::optional<RunLeader> holder_of_lock(const std::string& run_folder) {
  if (!records::in_use(run_folder)) return std::nullopt;
  RunLeader leader;
  const std::vector<std::string> lines = lines_of_lock(run_folder);
  if (lines.size() < 3) return leader;  // just being written
  leader.host = lines[0];
  base::parse_int(lines[1], &leader.id.pid);
  base::parse_int(lines[2], &leader.id.start);
  leader.is_here = is_here(leader, run_folder);
  return leader;
}

namespace fs = std::filesystem;

std::string target_of(const std::string& link) {
  std::error_code error;
  return fs::read_symlink(link, error).string();
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
    if (path == folder + "/launch.lock" || path == folder + "/run.lock" || base::begins_with(path, folder + "/logs/"))
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

std::optional<RunLeader> leader_of(const std::string& run_folder, const std::deque<records::Event>& events) {
  using records::EventKind;
  RunLeader leader;
  for (auto event = events.rbegin(); event != events.rend() && leader.host.empty(); ++event) {
    if (event->kind == EventKind::stop_requested) leader.asked_to_stop = true;
    if (event->kind != EventKind::launch) continue;
    leader.host = event->host;
    leader.id = {static_cast<std::int64_t>(event->number("pid")),
                 static_cast<std::int64_t>(event->number("process_start"))};
  }
  leader.is_here = is_here(leader, run_folder);
  if (leader.is_here) return leader;
  return holder_of_lock(run_folder);
}

std::deque<records::Event> last_events(const std::string& run_folder) {
  std::deque<records::Event> events;
  for (const std::string& line : records::LineReader(records::events_path(run_folder), tail_of_events).read().lines)
    if (auto event = records::parse_event(line)) events.push_back(std::move(*event));
  return events;
}

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
