// How fast messages travel between the ranks of a channel.
#pragma once

#include "comm/channel.h"
#include "schedule/simulate/simulator.h"

namespace troika::train {

// Collective over a channel of at least two ranks. Every rank sends to the next and receives from the one before, all at
// once: small messages for the latency, 256 KiB for the rate. Returns the slowest, the same on every rank.
schedule::Link measure_link(comm::Channel& world);

}  // namespace troika::train
