#include "train/nccl_ranks_test_support.h"

#include "comm/rank_channels.h"
#include "comm/nccl_test_support.h"

namespace troika::train {

NcclRanks::NcclRanks(std::vector<std::shared_ptr<tensor::Streams>> streams, double deadline_seconds)
    : deadline_seconds_(deadline_seconds), server_(0), streams_(std::move(streams)), open_(streams_.size()) {
  for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
    rendezvous::Identity me;
    me.world_rank = static_cast<int>(rank);
    me.world_size = static_cast<int>(streams_.size());
    me.store_port = server_.port();
    comm::NcclSettings settings;
    settings.library = comm::nccl_stand_in();
    settings.timeout_seconds = deadline_seconds;
    transports_.push_back(std::make_unique<comm::NcclTransport>(me, settings, streams_[rank]));
  }
}

void NcclRanks::check(int world_rank) {
  for (comm::Channel* channel : open_.at(static_cast<std::size_t>(world_rank))) channel->check();
}

std::unique_ptr<comm::Channel> NcclRanks::open(int world_rank, const std::string& name, const std::vector<int>& ranks,
                                               std::unique_ptr<comm::Channel> host) {
  if (ranks.size() == 1) return host;
  const auto rank = static_cast<std::size_t>(world_rank);
  std::unique_ptr<comm::Channel> device = transports_[rank]->group(name, ranks);
  open_[rank].push_back(device.get());
  return streams_[rank]->device().is_cpu() ? std::move(device) : comm::by_device(std::move(host), std::move(device));
}

std::vector<comm::RankChannels> NcclRanks::channels(const mesh::Shape& shape) {
  std::vector<comm::RankChannels> all = thread_channels(shape, {}, deadline_seconds_);
  for (int rank = 0; rank < shape.world(); ++rank) {
    comm::RankChannels& channels = all[static_cast<std::size_t>(rank)];
    for (const auto& [axis, channel] :
         {std::pair{mesh::Axis::pp, &channels.pp}, {mesh::Axis::tp, &channels.tp}, {mesh::Axis::cp, &channels.cp}}) {
      *channel = open(rank, mesh::group_name(shape, axis, rank), mesh::group_of(shape, axis, rank), std::move(*channel));
    }
    channels.replicas =
        open(rank, mesh::replicas_name(shape, rank), mesh::replicas_of(shape, rank), std::move(channels.replicas));
  }
  return all;
}

}  // namespace troika::train
