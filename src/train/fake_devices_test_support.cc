#include "train/fake_devices_test_support.h"

#include "comm/nccl_test_support.h"
#include "comm/self_channel.h"

namespace troika::train {

static constexpr double deadline_seconds = 60;

FakeDevices::FakeDevices(int ranks, std::uint64_t seed, const std::optional<PlantedFault>& fault)
    : server_(0), open_(static_cast<std::size_t>(ranks)) {
  const auto machine = tensor::make_fake_machine(seed, deadline_seconds);
  for (int rank = 0; rank < ranks; ++rank) {
    devices_.push_back(tensor::make_fake_streams(machine));
    std::shared_ptr<tensor::Streams> streams = devices_.back();
    if (fault && fault->world_rank == rank) streams = tensor::forgetful(streams, fault->kind, fault->number, steps_begun_);
    streams_.push_back(streams);
    rendezvous::Identity me;
    me.world_rank = rank;
    me.world_size = ranks;
    me.store_port = server_.port();
    comm::NcclSettings settings;
    settings.library = comm::nccl_stand_in();
    settings.timeout_seconds = deadline_seconds;
    transports_.push_back(std::make_unique<comm::NcclTransport>(me, settings, streams));
    devices_.back()->while_standing([&open = open_[static_cast<std::size_t>(rank)]] {
      for (comm::Channel* channel : open) channel->check();
    });
  }
}

std::unique_ptr<comm::Channel> FakeDevices::open(int world_rank, const std::string& name,
                                                 const std::vector<int>& ranks) {
  if (ranks.size() == 1) return comm::make_self_channel(name);
  const auto rank = static_cast<std::size_t>(world_rank);
  auto channel = transports_[rank]->group(name, ranks);
  open_[rank].push_back(channel.get());
  return channel;
}

std::vector<comm::RankChannels> FakeDevices::channels(const mesh::Shape& shape) {
  std::vector<comm::RankChannels> all = thread_channels(shape);
  for (int rank = 0; rank < shape.world(); ++rank) {
    comm::RankChannels& channels = all[static_cast<std::size_t>(rank)];
    for (const auto& [axis, channel] :
         {std::pair{mesh::Axis::pp, &channels.pp}, {mesh::Axis::tp, &channels.tp}, {mesh::Axis::cp, &channels.cp}}) {
      *channel = open(rank, mesh::group_name(shape, axis, rank), mesh::group_of(shape, axis, rank));
    }
    channels.replicas = open(rank, mesh::replicas_name(shape, rank), mesh::replicas_of(shape, rank));
  }
  return all;
}

}  // namespace troika::train
