// `troika launch`: starts the ranks of a run on this host, watches them, and ends them together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "launch/flags.h"
#include "launch/launcher.h"

namespace troika::commands {

// Host 0's launcher also serves the store that all ranks of the run meet at. Every rank gets RANK WORLD_SIZE
// LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT TROIKA_STORE TROIKA_GENERATION TROIKA_LAUNCH, and,
// unless they are set, the variables of set_thread_variables (launch/flags.h). World rank 0 writes to this terminal, the
// others to files. It speaks `language`, and so do ranks that are verbs of ours. Returns 0, 130 when interrupted after saving, or the exit code of the first cause (75 for a rank
// that was killed).
int run_launch(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
               base::Language language);

// The launcher's report on the cause after a failure: `troika why` by itself.

// Prints cause, evidence and advice on stderr, and returns them; nothing where no cause is found or `folder` is "". A disk that does
// not answer within some seconds is not waited for.
std::string explain_failure(const std::string& folder, const launch::Speaker& speaker);

// `troika launch --hosts`: starts a launcher on each host by the user's ssh, passes stop signals on, and ends when all have.

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
