// How fast messages travel between two ranks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/channel.h"
#include "machine/rates.h"
#include "rendezvous/identity.h"
#include "train/session.h"

namespace troika::probe {

// Both of the pair call it, the others leave them alone. Each sends to the other at the same time: 8 bytes for the latency, then
// messages that grow until one takes some hundredths of a second, at most 16 MiB, for the rate. The best of several. The same
// result on both.
machine::Link measure_pair(comm::Channel& channel, int peer);

// Two hosts that measure the link between them.
using Pair = std::pair<int, int>;  // the lower number first

// Rounds in which every two of `players` meet once, nobody twice in a round: players - 1 rounds, one more where they are odd. By
// turning a circle around one that is fixed.
std::vector<std::vector<Pair>> tournament(int players);

// Two ranks that are launched on one host to measure the link between them (measure_host.h).

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
