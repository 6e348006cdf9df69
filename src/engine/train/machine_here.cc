#include "train/machine_here.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "comm/collectives.h"
#include "host/cores.h"
#include "kernels/linear.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"
#include "tensor/operations.h"

namespace troika::train {
namespace {

// A product of the model's widths, at most some ten milliseconds on one slow core.
planner::TimedProduct time_product(const config::ModelSettings& model) {
  constexpr std::int64_t largest_width = 1024, rows = 256;
  constexpr double seconds_to_time = 0.01;
  const std::int64_t width = std::min(largest_width, model.hidden), out = std::min(largest_width, model.ffn);
  const tensor::Tensor x = tensor::zeros({rows, width}), w = tensor::zeros({out, width});
  kernels::linear_forward(x, w);
  const double begin = base::monotonic_seconds();
  double seconds = 0, products = 0;
  while (seconds < seconds_to_time) {
    kernels::linear_forward(x, w);
    ++products;
    seconds = base::monotonic_seconds() - begin;
  }
  return {2.0 * static_cast<double>(rows * width * out), 4.0 * static_cast<double>(rows * (width + out) + width * out),
          seconds / products};
}

// The message that this rank sends about its host.
std::string tell(const MachineHere& here, const config::ModelSettings& model) {
  if (!here.machine) return here.local_rank == 0 ? planner::tell_no_machine(here.why_none) : "";
  const bool scales = !here.probed() && here.machine->cluster.hosts.front().computes_on_cores();
  const planner::TimedProduct product = scales ? time_product(model) : planner::TimedProduct{};
  return here.local_rank == 0 ? planner::tell_machine(*here.machine, here.local_size, product) : "";
}

}  // namespace

MachineHere find_machine(const std::string& file, int local_rank, int local_size, const tensor::Device& device) {
  MachineHere here{file, local_rank, local_size, {}, {}};
  const host::CoresOfLauncher cores;  // all ranks of the host together have them
  try {
    here.machine = device.is_cpu() ? planner::this_machine(file)
                                   : planner::accelerators_of_this_machine(device.accelerator().traits(device).name, local_size);
  } catch (const base::Error& error) {
    here.why_none = base::text_of(error);
  }
  return here;
}

planner::RunMachines gather_machines(comm::Channel& world, const MachineHere& here, const config::ModelSettings& model,
                                     const schedule::Link& link) {
  const std::string mine = tell(here, model);
  const auto told = world.size() == 1 ? std::vector<std::string>{mine} : comm::all_gather_text(world, mine);
  return world.rank() == 0 ? planner::machines_of_run(told, link) : planner::RunMachines{};
}

tensor::Tensor gathered(comm::Channel& world, const std::vector<double>& values) {
  const tensor::Tensor all =
      tensor::empty({world.size(), static_cast<std::int64_t>(values.size())}, tensor::Dtype::fp64);
  std::vector<tensor::Tensor> rows;
  for (int rank = 0; rank < world.size(); ++rank) rows.push_back(all[rank]);
  comm::all_gather(world, tensor::of(values), rows);
  return all;
}

namespace {

constexpr std::uint32_t probe_tag = 1;

// Seconds of one round. The next receive is posted before the send is waited for, so no round waits for a peer to post.
double ring_seconds(comm::Channel& world, std::int64_t bytes, int rounds) {
  const tensor::Tensor out = tensor::zeros({bytes}, tensor::Dtype::uint8),
                       in = tensor::empty({bytes}, tensor::Dtype::uint8);
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
  return tensor::largest(gathered(world, {(base::monotonic_seconds() - begin) / rounds}));
}

// A group of a rank whose tensors are on a device.
struct DeviceGroup {
  enum class By { messages, exchanges };
  comm::Channel* channel;
  By by;
};

// The same around such a group, by the device's clock.
double ring_seconds(const DeviceGroup& group, comm::Channel& world, tensor::Streams& streams, std::int64_t bytes,
                    int rounds) {
  comm::Channel& channel = *group.channel;
  const tensor::TensorType type(tensor::Dtype::uint8, streams.device());
  const tensor::Tensor out = tensor::zeros({bytes}, type), in = tensor::empty({bytes}, type);
  const int next = (channel.rank() + 1) % channel.size(),
            before = (channel.rank() + channel.size() - 1) % channel.size();
  comm::barrier(world);
  const tensor::Event begin = streams.record(tensor::compute_lane, tensor::Timed::yes);
  for (int round = 0; round < rounds; ++round) {
    std::vector<comm::Transfer> transfers;
    if (group.by == DeviceGroup::By::exchanges) {
      transfers = channel.exchange({{in, before, probe_tag}}, {{out, next, probe_tag}});
    } else {
      transfers.push_back(channel.recv(in, before, probe_tag));
      transfers.push_back(channel.send(out, next, probe_tag));
    }
    for (comm::Transfer& transfer : transfers) transfer.wait();
  }
  const tensor::Event end = streams.record(tensor::compute_lane, tensor::Timed::yes);
  tensor::await(end, [&] { channel.check(); });
  return tensor::largest(gathered(world, {streams.seconds_between(begin, end) / rounds}));
}

// ring(bytes, rounds): seconds of one round.
template <class Ring>
schedule::Link link_of(const Ring& ring, std::int64_t large) {
  constexpr std::int64_t small = 8;
  constexpr double soon_seconds = 0.5;  // then another try costs little: a stall is not the rate
  // The shortest of some tries: a stall of the network is not its latency.
  const auto shortest = [&](std::int64_t bytes, int rounds, int tries) {
    double seconds = ring(bytes, rounds);
    for (int again = 1; again < tries; ++again) seconds = std::min(seconds, ring(bytes, rounds));
    return seconds;
  };
  ring(small, 4);  // the first messages find nothing warm
  schedule::Link link;
  link.latency_seconds = shortest(small, 4, 4);
  double seconds = ring(large, 1);
  if (seconds < soon_seconds) seconds = std::min(seconds, shortest(large, 1, seconds < soon_seconds / 10 ? 2 : 1));
  link.bytes_per_second = static_cast<double>(large) / std::max(seconds - link.latency_seconds, 0.1 * seconds);
  return link;
}

}  // namespace

schedule::Link measure_link(comm::Channel& world) {
  return link_of([&](std::int64_t bytes, int rounds) { return ring_seconds(world, bytes, rounds); }, 256 * 1024);
}

// The slowest of its groups; a group has the same size on all ranks.
schedule::Link measure_link(comm::RankChannels& channels, tensor::Streams& streams) {
  using By = DeviceGroup::By;
  schedule::Link slowest_link;
  bool first = true;
  for (const DeviceGroup& group : {DeviceGroup{channels.pp.get(), By::messages},
                                   {channels.cp.get(), By::messages},
                                   {channels.replicas.get(), By::exchanges},
                                   {channels.tp.get(), By::exchanges}}) {
    if (group.channel->size() == 1) continue;
    const schedule::Link link = link_of(
        [&](std::int64_t bytes, int rounds) { return ring_seconds(group, *channels.world, streams, bytes, rounds); },
        4 << 20);
    slowest_link.latency_seconds =
        first ? link.latency_seconds : std::max(slowest_link.latency_seconds, link.latency_seconds);
    slowest_link.bytes_per_second =
        first ? link.bytes_per_second : std::min(slowest_link.bytes_per_second, link.bytes_per_second);
    first = false;
  }
  return slowest_link;
}

}  // namespace troika::train
