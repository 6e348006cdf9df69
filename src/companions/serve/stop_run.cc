#include "serve/stop_run.h"

#include <signal.h>

#include "base/host_name.h"
#include "base/say.h"
#include "serve/run_leader.h"

namespace troika::serve {
namespace {

constexpr double apart_seconds = 0.5;  // what comes sooner counts as the same signal (launch/attempt.cc)

}  // namespace

bool RunStops::is_first(const std::string& folder, const host::ProcessId& id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  host::ProcessId& asked = asked_[folder];
  if (asked.pid == id.pid && asked.start == id.start) return false;
  asked = id;
  return true;
}

void RunStops::stop(const Shop& shop, const std::string& name, StopHow how) {
  const std::string folder = shop.catalog.folder_of(name);
  const std::optional<RunLeader> leader = leader_of(folder, last_events(folder));
  if (!leader) throw Refused{409, base::say("'{}' is not under way", name)};
  if (!leader->is_here && leader->host == base::host_name())
    throw Refused{409, base::say("'{}' cannot be stopped from here: its process {} belongs to another user, does not "
              "write this run's folder, or has just ended", name, leader->id.pid)};
  if (!leader->is_here) throw Refused{409, base::say("'{}' is led from the host {}, which this page does not reach: stop it there", name, leader->host.empty() ? "?" : leader->host)};
  const host::HeldProcess process(leader->id);
  if (!process.found()) throw Refused{409, base::say("'{}' is not under way", name)};
  const bool first = is_first(folder, leader->id) && !leader->asked_to_stop;
  if (first || how == StopHow::now)
    if (!process.send(SIGTERM) && !process.ends_within(0))
      throw Refused{409, base::say("'{}' cannot be stopped from here: its process {} belongs to another user, does not "
              "write this run's folder, or has just ended", name, leader->id.pid)};
  if (how == StopHow::now && !process.ends_within(apart_seconds)) {
    process.send(SIGTERM);
    if (!process.ends_within(seconds_until_killed_)) process.send(SIGKILL);
  }
  shop.catalog.look_again();
}

}  // namespace troika::serve
