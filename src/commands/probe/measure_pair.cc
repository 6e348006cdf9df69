#include "commands/probe/measure_pair.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/clock.h"

namespace troika::commands {
namespace {

constexpr std::uint32_t pair_tag = 2;

// Both send and receive; the next receive is posted before the send is waited for, so no round waits for a peer to post.
double seconds_of_rounds(comm::Channel& channel, int peer, std::int64_t bytes, int rounds) {
  const at::Tensor out = at::zeros({bytes}, at::kByte), in = at::empty({bytes}, at::kByte);
  comm::Transfer receiving = channel.recv(in, peer, pair_tag);
  const double begin = base::monotonic_seconds();
  for (int round = 0; round < rounds; ++round) {
    comm::Transfer sending = channel.send(out, peer, pair_tag);
    receiving.wait();
    if (round + 1 < rounds) receiving = channel.recv(in, peer, pair_tag);
    sending.wait();
  }
  return (base::monotonic_seconds() - begin) / rounds;
}

// What both measured, the longer.
double of_both(comm::Channel& channel, int peer, double seconds) {
  const at::Tensor mine = at::full({1}, seconds, at::kDouble), theirs = at::empty({1}, at::kDouble);
  comm::Transfer receiving = channel.recv(theirs, peer, pair_tag), sending = channel.send(mine, peer, pair_tag);
  receiving.wait();
  sending.wait();
  return std::max(seconds, theirs.item<double>());
}

double best_seconds(comm::Channel& channel, int peer, std::int64_t bytes, int rounds, int tries) {
  double best = of_both(channel, peer, seconds_of_rounds(channel, peer, bytes, rounds));
  for (int again = 1; again < tries; ++again)
    best = std::min(best, of_both(channel, peer, seconds_of_rounds(channel, peer, bytes, rounds)));
  return best;
}

}  // namespace

// One way of a message that takes so long that the bursts and buffers on its way do not count.
machine::Link measure_pair(comm::Channel& channel, int peer) {
  constexpr std::int64_t small = 8, least = 64 << 10, most = 16 << 20;
  constexpr double enough_seconds = 0.15, soon_seconds = 0.05;
  seconds_of_rounds(channel, peer, small, 4);  // the first messages find nothing warm
  machine::Link link;
  link.latency_seconds = best_seconds(channel, peer, small, 16, 8);
  std::int64_t bytes = least;
  double seconds = best_seconds(channel, peer, bytes, 1, 2);
  while (seconds < enough_seconds && bytes < most) {
    bytes *= 4;
    seconds = best_seconds(channel, peer, bytes, 1, seconds < soon_seconds / 4 ? 4 : 3);
  }
  link.bytes_per_second = static_cast<double>(bytes) / std::max(seconds - link.latency_seconds, 0.1 * seconds);
  return link;
}

}  // namespace troika::commands
