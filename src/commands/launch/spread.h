// `troika launch --hosts`: starts a launcher on each host by the user's ssh, passes stop signals on, and ends when all have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "launch/flags.h"

namespace troika::commands {

// One host of a run, as its launcher is told.
struct HostPlace {
  int nnodes = 1;
  int node_rank = 0;
  std::string master_address;
};

// The words of a host's launcher, from "launch" on: the flags of `f`, with the place in the run instead of what was said of it; all speak
// `language`.
std::vector<std::string> launch_words(const launch::LaunchFlags& f, const HostPlace& place, base::Language language);

// Tries every host first: ConfigError for what is wrong with the flags or with a folder, program or version there, PeerError for hosts
// that ssh does not reach; each names them all. The secret of the store goes to the launchers through ssh; without one in
// the flags or the environment it is made. Returns what host 0 returns; where that is 0, what another host does; 75 when ssh ends
// before its launcher does. SIGINT, SIGTERM and SIGHUP stop all hosts after the step, a second one at once; SIGUSR1 is passed on too.
int spread_launch(const launch::LaunchFlags& f, const std::map<std::string, std::string>& environment,
                  base::Language language);

}  // namespace troika::commands
