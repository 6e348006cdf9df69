// How fast messages travel between the ranks of a channel.
#pragma once

#include "comm/channel.h"
#include "comm/rank_channels.h"
#include "schedule/simulate/simulator.h"
#include "tensor/streams.h"

namespace troika::train {

// Collective over a channel of at least two ranks. Every rank sends to the next and receives from the one before, all at
// once: small messages for the latency, 256 KiB for the rate. Returns the slowest, the same on every rank.
schedule::Link measure_link(comm::Channel& world);

// Collective over all ranks, at least two. The same by tensors of the streams' device, over the channels that carry a step's:
// stages and context by messages, replicas and tensor groups by exchanges. By the device's clock; 4 MiB for the rate, of which
// a link between devices takes longer than the start of a message.
schedule::Link measure_link(comm::RankChannels& channels, tensor::Streams& streams);

}  // namespace troika::train
