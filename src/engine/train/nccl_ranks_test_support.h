// Channels over the stand-in for NCCL between the devices of ranks that are threads of this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/nccl_channel.h"
#include "rendezvous/store.h"
#include "tensor/streams.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {

// The ranks of one run. Outlives its channels; the library that the streams' device belongs to outlives both.
class NcclRanks {
 public:
  NcclRanks(std::vector<std::shared_ptr<tensor::Streams>> streams, double deadline_seconds);

  // Channels of all, by world rank. world goes over threads, as over TCP beside NCCL, and so do tensors in host memory; all else
  // over the devices.
  std::vector<comm::RankChannels> channels(const mesh::Shape& shape);
  void check(int world_rank);
  int size() const { return static_cast<int>(streams_.size()); }
  std::shared_ptr<tensor::Streams> streams(int world_rank) { return streams_.at(static_cast<std::size_t>(world_rank)); }

 private:
  std::unique_ptr<comm::Channel> open(int world_rank, const std::string& name, const std::vector<int>& ranks,
                                      std::unique_ptr<comm::Channel> host);

  const double deadline_seconds_;
  rendezvous::StoreServer server_;
  std::vector<std::shared_ptr<tensor::Streams>> streams_;
  std::vector<std::unique_ptr<comm::NcclTransport>> transports_;
  std::vector<std::vector<comm::Channel*>> open_;  // by rank
};

}  // namespace troika::train
