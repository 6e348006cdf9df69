// Runs that the page starts and resumes, as processes of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "host/process.h"
#include "records/event.h"
#include "serve/catalog.h"
#include "serve/form.h"
#include "serve/routes.h"

namespace troika::serve {

inline constexpr double start_patience_seconds = 2;

// Into a new folder of that name, or that of a run which has not trained a step. Returns its name when so many seconds have passed and it
// has not ended with an error, or it has ended well. Refused 400 where the settings are wrong or it ended, then with why in the language
// of `asked`; 409 where the name is taken.
std::string start_run(const RouteContext& context, const Form& form, const Asked& asked,
                      double patience_seconds = start_patience_seconds);

// With the settings of its last attempt and as many processes; from the newest checkpoint, or that of `step`. Refused 404, 409.
void resume_run(const RouteContext& context, const std::string& name, std::optional<std::int64_t> step, const Asked& asked,
                double patience_seconds = start_patience_seconds);

// Runs that the page stops.
enum class StopHow {
  save,  // after this step, with a checkpoint; asked for again, nothing more happens
  now,   // at once, without
};

// Remembers whom it has asked, as a second signal means something else. Threads: any, several at once.
class RunStops {
 public:
  // So long `now` waits for an end after the second signal, before it kills.
  explicit RunStops(double seconds_until_killed = 5) : seconds_until_killed_(seconds_until_killed) {}

  // Only a process of this host that leads the run. `now` waits until it has ended, for some seconds. Refused 404, 409.
  void stop(const RouteContext& context, const std::string& name, StopHow how);

 private:
  bool is_first(const std::string& folder, const host::ProcessId& id);

  const double seconds_until_killed_;
  std::mutex mutex_;
  std::map<std::string, host::ProcessId> asked_;  // by folder
};

// The process through which a run is asked to stop.
struct RunLeader {
  std::string host;
  bool is_here = false;        // on this host, and it does write the run
  host::ProcessId id;          // where it is here
  bool asked_to_stop = false;  // the launcher has said so of this attempt
};

// The launcher of host 0 as its event has it, else whoever holds RUN/run.lock. Nothing where neither is there. `events`: the last ones
// of the run, in order.
std::optional<RunLeader> leader_of(const std::string& run_folder, const std::deque<records::Event>& events);

// The events that leader_of looks at, read anew: those of the end of events.jsonl.
std::deque<records::Event> last_events(const std::string& run_folder);

// Whether a process writes a run: what a folder says of processes is believed only where the kernel says so too.
// A process of Troika that has the folder's launch.lock, run.lock or a log of its ranks open, or that has started one which has. False for
// what /proc does not tell, as of other users' processes.
bool writes_run(std::int64_t pid, const std::string& run_folder);

}  // namespace troika::serve
