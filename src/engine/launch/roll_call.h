// The first word of all hosts of `launch --hosts`, before a launcher is started on one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/signals.h"
#include "launch/greeting.h"
#include "launch/ssh_hosts.h"

namespace troika::launch {

constexpr int ssh_failed = 255;  // what ssh ends with when it has no connection, or lost it

struct LaunchHost {
  SshHost ssh;
  bool here = false;  // reached without ssh

  std::string name() const { return here ? "this host" : ssh.destination; }
};

// Where the run is on the other hosts.
struct RemoteRun {
  std::string folder, program;
};

// What each host says; nothing for this one. All are asked at once. PeerError where ssh does not reach one, ConfigError for a folder,
// program or version; each names all hosts with a fault. Stopped at a stop signal.
std::vector<Greeting> call_roll(const std::vector<LaunchHost>& hosts, const RemoteRun& run,
                                const std::map<std::string, std::string>& environment, host::Signals& signals);

}  // namespace troika::launch
