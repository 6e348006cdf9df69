// What a launcher does beside its ranks: it speaks to its user, hears signals, pauses between attempts.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/language.h"
#include "host/signals.h"
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

}  // namespace troika::launch
