#include "serve/run_leader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/host_name.h"
#include "base/text.h"
#include "records/line_file.h"
#include "records/run_in_use.h"
#include "records/run_reader.h"
#include "serve/run_writer.h"

namespace troika::serve {
namespace {

constexpr std::int64_t tail_of_events = 4 << 20;

// What the folder says counts for nothing where the process does not write the run: anybody may have put it there.
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
  leader.who = RunLeader::Who::first_rank;
  const std::vector<std::string> lines = lines_of_lock(run_folder);
  if (lines.size() < 3) return leader;  // just being written
  leader.host = lines[0];
  base::parse_int(lines[1], &leader.id.pid);
  base::parse_int(lines[2], &leader.id.start);
  leader.is_here = is_here(leader, run_folder);
  return leader;
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

}  // namespace troika::serve
