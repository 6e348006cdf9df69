// How fast messages travel between two ranks.
#pragma once

#include "comm/channel.h"
#include "machine/rates.h"

namespace troika::probe {

// Both of the pair call it, the others leave them alone. Each sends to the other at the same time: 8 bytes for the latency, then
// messages that grow until one takes some hundredths of a second, at most 16 MiB, for the rate. The best of several. The same
// result on both.
machine::Link measure_pair(comm::Channel& channel, int peer);

}  // namespace troika::probe
