#include "train/measure_link.h"

#include <algorithm>

#include "base/clock.h"
#include "comm/collectives.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::train {
namespace {

constexpr std::uint32_t probe_tag = 1;

// The largest of all ranks' values.
double slowest(comm::Channel& world, double mine) {
  const tensor::Tensor value = tensor::full({1}, mine, tensor::Dtype::fp64);
  const tensor::Tensor all = tensor::empty({world.size()}, tensor::Dtype::fp64);
  std::vector<tensor::Tensor> parts;
  for (int rank = 0; rank < world.size(); ++rank) parts.push_back(all.narrow(0, rank, 1));
  comm::all_gather(world, value, parts);
  return tensor::largest(all);
}

// Seconds of one round. The next receive is posted before the send is waited for, so no round waits for a peer to post.
double ring_seconds(comm::Channel& world, std::int64_t bytes, int rounds) {
  const tensor::Tensor out = tensor::zeros({bytes}, tensor::Dtype::uint8), in = tensor::empty({bytes}, tensor::Dtype::uint8);
  const int next = (world.rank() + 1) % world.size(), before = (world.rank() + world.size() - 1) % world.size();
  comm::Transfer receiving = world.recv(in, before, probe_tag);
  comm::barrier(world);
  const double begin = base::monotonic_seconds();
  for (int round = 0; round < rounds; ++round) {
    comm::Transfer sending = world.send(out, next, probe_tag);
    receiving.wait();
    if (round + 1 < rounds) receiving = world.recv(in, before, probe_tag);
    sending.wait();
  }
  return slowest(world, (base::monotonic_seconds() - begin) / rounds);
}

// The shortest of some tries: a stall of the network is not its latency.
double shortest_ring(comm::Channel& world, std::int64_t bytes, int rounds, int tries) {
  double shortest = ring_seconds(world, bytes, rounds);
  for (int again = 1; again < tries; ++again) shortest = std::min(shortest, ring_seconds(world, bytes, rounds));
  return shortest;
}

}  // namespace

schedule::Link measure_link(comm::Channel& world) {
  constexpr std::int64_t small = 8, large = 256 * 1024;
  constexpr double soon_seconds = 0.5;  // then another try costs little: a stall is not the rate
  ring_seconds(world, small, 4);  // the first messages find nothing warm
  schedule::Link link;
  link.latency_seconds = shortest_ring(world, small, 4, 4);
  double seconds = ring_seconds(world, large, 1);
  if (seconds < soon_seconds) seconds = std::min(seconds, shortest_ring(world, large, 1, seconds < soon_seconds / 10 ? 2 : 1));
  link.bytes_per_second = static_cast<double>(large) / std::max(seconds - link.latency_seconds, 0.1 * seconds);
  return link;
}

}  // namespace troika::train
