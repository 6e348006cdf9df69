// The ranks of a launched probe.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "rendezvous/identity.h"
#include "train/session.h"

namespace troika::probe {

// Runs `body` in a session whose ranks have met and have channels, all in one data-parallel group; messages go as comm.* of
// the environment says, over `interface` where it is not empty. Ends as train::in_session does: an error that our launcher has
// heard becomes only its exit code.
int in_ranks(const rendezvous::Identity& me, const std::string& interface,
             const std::map<std::string, std::string>& environment, const std::function<void(train::Session&)>& body);

}  // namespace troika::probe
