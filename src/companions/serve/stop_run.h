// Runs that the page stops.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "host/process.h"
#include "serve/catalog.h"
#include "serve/routes.h"

namespace troika::serve {

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
  void stop(const Shop& shop, const std::string& name, StopHow how);

 private:
  bool is_first(const std::string& folder, const host::ProcessId& id);

  const double seconds_until_killed_;
  std::mutex mutex_;
  std::map<std::string, host::ProcessId> asked_;  // by folder
};

}  // namespace troika::serve
