// The channels of one rank, one for each group that it is in, and channels over two backends.
#pragma once

#include <functional>
#include <memory>

#include "comm/channel.h"

namespace troika::comm {

// Each for this rank's thread, but `saving`: all ranks, for whoever writes checkpoints beside training; null where nothing is saved.
// replicas: the ranks with the same parameters (mesh/mesh.h).
struct RankChannels {
  std::unique_ptr<Channel> world, pp, tp, cp, replicas, saving;
};

// Collective: Channel::prove_order of all groups that a program uses.
inline void prove_order(const RankChannels& channels) {
  for (const auto* channel : {&channels.pp, &channels.tp, &channels.cp, &channels.replicas})
    (*channel)->prove_order(*channels.world);
}

// Some peers are reached over one backend, the others over another. Both are of one group. `is_near`: whether a rank of the group is
// reached over the first; alike at both ends.
std::unique_ptr<Channel> by_peer(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far,
                                 std::function<bool(int rank)> is_near);

// Tensors in host memory go over one backend, tensors on a device over another. Both are of one group. Messages of the
// two never meet each other.
std::unique_ptr<Channel> by_device(std::unique_ptr<Channel> host, std::unique_ptr<Channel> device);

}  // namespace troika::comm
