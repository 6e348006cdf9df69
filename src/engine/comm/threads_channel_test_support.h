// Ranks as threads of one process. A send completes only when the peer has posted its recv, as over TCP, so a program that
// deadlocks there deadlocks here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/channel.h"

namespace troika::comm {

// A slow network to pretend: each ordered pair of ranks has a link of its own, and a message occupies it from the moment both
// sides have posted it. 0 bytes per second: no limit.
struct LinkRate {
  double bytes_per_second = 0;
  double latency_seconds = 0;
};

// One channel per rank, for one thread each. A wait that takes longer than `deadline_seconds` is a PeerError. Destroying one
// channel is that rank's death to the others.
std::vector<std::unique_ptr<Channel>> make_thread_channels(int size, const std::string& name, double deadline_seconds,
                                                           LinkRate rate = {});

}  // namespace troika::comm
