// The process through which a run is asked to stop.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "host/process.h"
#include "records/event.h"

namespace troika::serve {

struct RunLeader {
  enum class Who { launcher, first_rank } who = Who::launcher;
  std::string host;
  bool is_here = false;        // on this host, and it does write the run (run_writer.h)
  host::ProcessId id;          // where it is here
  bool asked_to_stop = false;  // the launcher has said so of this attempt
};

// The launcher of host 0 as its event has it, else whoever holds RUN/run.lock. Nothing where neither is there. `events`: the last ones
// of the run, in order.
std::optional<RunLeader> leader_of(const std::string& run_folder, const std::deque<records::Event>& events);

// What leader_of looks at, read anew: those of the end of events.jsonl.
std::deque<records::Event> last_events(const std::string& run_folder);

// Whether a process writes a run: what a folder says of processes is believed only where the kernel says so too.

// A process of Troika that has the folder's launch.lock, run.lock or a log of its ranks open, or that has started one which has. False for
// what /proc does not tell, as of other users' processes.
bool writes_run(std::int64_t pid, const std::string& run_folder);

}  // namespace troika::serve
