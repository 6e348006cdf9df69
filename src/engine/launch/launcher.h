// The work of a launcher: it speaks to its user, hears signals, runs attempts and pauses between them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/language.h"
#include "host/signals.h"
#include "host/worker.h"
#include "launch/launch_records.h"
#include "rendezvous/identity.h"
#include "rendezvous/variables.h"

namespace troika::launch {

// How a launcher speaks.
struct Speaker {
  std::string command = "troika launch";  // that its user has started
  base::Language language = base::Language::english;

  void say(const base::Text& text) const;  // one line on standard error: "troika launch: ...". Threads: any
};

struct Stopped {};  // thrown when a signal ends a wait

// Waits so long; throws Stopped at a stop signal.
void wait_or_stop(host::Signals& signals, double seconds);
void stop_if_asked(host::Signals& signals);

// What SIGUSR1 means to a launcher and a rank; SIGUSR2 always asks to stop. ConfigError as slurm_step.
inline host::FirstUserSignal first_user_signal(const rendezvous::Environment& environment) {
  return rendezvous::slurm_step(environment) ? host::FirstUserSignal::asks_to_stop : host::FirstUserSignal::asks_where;
}

// How long a launcher waits before it starts all ranks again: 1 s after the first failure, then twice as long each time, up to a
// minute; an attempt that lasted a minute counts as a new beginning.
class RestartPause {
 public:
  double after(double attempt_seconds);

 private:
  double next_ = 1;  // seconds
};

// Whether the system's out-of-memory killer has acted lately. A process that it kills ends within seconds; what it did long before has
// nothing to do with a signal of today. Threads: one. Times are base::monotonic_seconds().
class RecentKills {
 public:
  static constexpr double window_seconds = 30;  // a process with much memory, on a host that swaps, takes long to end

  void note(double now, std::int64_t count);  // as host::memory_kills()
  // How often it acted in the window before the last note, or since the last note before that; -1: nobody counts here.
  std::int64_t risen() const { return counts_.empty() ? -1 : counts_.back().second - counts_.front().second; }

 private:
  std::deque<std::pair<double, std::int64_t>> counts_;  // the first is the last one that is older than the window
};

// One attempt: this host's ranks from start to end, in step with the other hosts through the store.
struct Outcome {
  int exit_code = 0;   // 0, 130, or the first cause's code
  std::optional<records::Incident> failure;  // of the failure report, which was said when it came
  base::Text details;  // the last lines of the failed rank's log, ranks that would not end; empty when there are none
  bool stop_requested = false;  // by a signal to the launcher: no restart
  bool store_is_lost = false;   // it had ended, or did not answer
};

// The time ranks have after a failure to end by themselves, before SIGTERM and SIGKILL.
struct Grace {
  double terminate_seconds = 3, kill_seconds = 4.5;
};

// Starts the workers and returns when all have ended. `identity` names the store and the generation. When one fails, the
// failure report goes to the store; the others have `grace` to end by themselves (their heartbeat clients tell them);
// one that survives SIGKILL for 10 s (the kernel keeps it: a disk or driver does not answer) is named and left. The first SIGINT,
// SIGTERM, SIGHUP or SIGUSR2 to the launcher is passed on, every SIGUSR1 too; a second one kills all ranks at once. A store that does
// not answer for `patience_seconds` is gone, which ends the ranks. What happens goes to `records`.
Outcome run_attempt(const std::vector<host::WorkerPlan>& plans, const rendezvous::Identity& identity,
                    double patience_seconds, host::Signals& signals, LaunchRecords& records, const Speaker& speaker,
                    const Grace& grace = {});

}  // namespace troika::launch
