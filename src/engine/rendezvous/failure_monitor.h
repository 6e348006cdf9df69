// The watches over the ranks and launchers of an attempt, where the store is hosted.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "records/incident.h"
#include "rendezvous/identity.h"

namespace troika::rendezvous {

// Follows all ranks: writes the failure report that FailureJudge or StallJudge gives, and for every rank to read who is behind or slow,
// and whose save is stalled.
class FailureMonitor {
 public:
  // Connects to the store that `identity` names; its world_rank is not used. Follows from a thread of its own until a report
  // has been made or the store has ended.
  explicit FailureMonitor(const Identity& identity);
  ~FailureMonitor();
  FailureMonitor(const FailureMonitor&) = delete;
  FailureMonitor& operator=(const FailureMonitor&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Finds silent launchers: no failure, as the run continues, but worth a look. Has no store, clock or threads. `now` never falls.
class LauncherSilence {
 public:
  explicit LauncherSilence(double limit_seconds) : limit_seconds_(limit_seconds) {}

  void heard(int node, double now) { launchers_[node].since = now; }
  void ended(int node) { launchers_.erase(node); }

  // A change of one launcher: silent for longer than the limit, or heard again.
  struct Change {
    int node = 0;
    bool silent = false;
    double seconds = 0;  // of the silence
  };
  // A pause of this host itself, between two calls, says nothing about the others.
  std::vector<Change> changes(double now);

 private:
  struct Launcher {
    double since = 0;
    double silent_since = 0;
    bool silent = false;
  };
  const double limit_seconds_;
  double last_ = -1;
  std::map<int, Launcher> launchers_;
};

// Watches the launchers of hosts other than 0 from a thread of its own and tells what changes, what they tell
// of ranks that are stopped, and who comes without the launch's secret.
class LauncherWatch {
 public:
  LauncherWatch(const Identity& identity, double limit_seconds, std::function<void(const records::Incident&)> say);
  ~LauncherWatch();
  LauncherWatch(const LauncherWatch&) = delete;
  LauncherWatch& operator=(const LauncherWatch&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
