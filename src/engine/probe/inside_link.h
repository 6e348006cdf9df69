// Two ranks that are launched on one host to measure the link between them (measure_host.h).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "machine/rates.h"
#include "rendezvous/identity.h"
#include "train/session.h"

namespace troika::probe {

// The word behind `probe` that makes a process one of them.
constexpr const char inside_link_word[] = "--inside-link";

// The first of them prints the link.
int run_inside_link(const std::map<std::string, std::string>& environment);
bool read_inside_link(const std::string& printed, machine::Link* link);  // false: it is not there

// The ranks of a launched probe.
// Runs `body` in a session whose ranks have met and have channels, all in one data-parallel group; messages go as comm.* of
// the environment says, over `interface` where it is not empty. Ends as train::in_session does: an error that our launcher has
// heard becomes only its exit code.
int in_ranks(const rendezvous::Identity& me, const std::string& interface,
             const std::map<std::string, std::string>& environment, const std::function<void(train::Session&)>& body);

}  // namespace troika::probe
