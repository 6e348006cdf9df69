// How fast messages travel between two ranks.
#pragma once

#include <utility>
#include <vector>

#include "comm/channel.h"
#include "machine/rates.h"

namespace troika::probe {

// Both of the pair call it, the others leave them alone. Each sends to the other at the same time: 8 bytes for the latency, then
// messages that grow until one takes some hundredths of a second, at most 16 MiB, for the rate. The best of several. The same
// result on both.
machine::Link measure_pair(comm::Channel& channel, int peer);

// Which hosts measure their link when.
using Pair = std::pair<int, int>;  // the lower number first

// Rounds in which every two of `players` meet once, nobody twice in a round: players - 1 rounds, one more where they are odd. By
// turning a circle around one that stands still.
std::vector<std::vector<Pair>> tournament(int players);

}  // namespace troika::probe
