// The channels of one rank, one for each group that it is in.
#pragma once

#include <memory>

#include "comm/channel.h"

namespace troika::comm {

// Each for this rank's thread, but `saving`: all ranks, for whoever writes checkpoints beside training; null where nothing is saved. replicas: the ranks
// with the same parameters (mesh.h).
struct RankChannels {
  std::unique_ptr<Channel> world, pp, tp, cp, replicas, saving;
};

// Collective: Channel::prove_order of all groups that a program uses.
inline void prove_order(const RankChannels& channels) {
  for (const auto* channel : {&channels.pp, &channels.tp, &channels.cp, &channels.replicas})
    (*channel)->prove_order(*channels.world);
}

}  // namespace troika::comm
