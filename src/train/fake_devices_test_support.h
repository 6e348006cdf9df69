// Ranks as threads, each with a fake device that is as late as a GPU may be (tensor/fake_streams_test_support.h), and with
// channels over the stand-in for NCCL between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/nccl_channel.h"
#include "rendezvous/store.h"
#include "tensor/fake_streams_test_support.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {

// A wait that one rank's device leaves out, counted from steps_begin().
struct PlantedFault {
  int world_rank = 0;
  tensor::ForgottenWait kind = tensor::ForgottenWait::of_compute_lane;
  std::int64_t number = 0;
};

// Of one run. Outlives its channels.
class FakeDevices {
 public:
  explicit FakeDevices(int ranks, std::uint64_t seed, const std::optional<PlantedFault>& fault = std::nullopt);

  // world goes over threads, as over TCP beside NCCL; all other groups over the devices.
  std::vector<comm::RankChannels> channels(const mesh::Shape& shape);
  void steps_begin() { *steps_begun_ = true; }  // by the thread of the faulty rank
  std::shared_ptr<tensor::Streams> streams(int world_rank) { return streams_.at(static_cast<std::size_t>(world_rank)); }

 private:
  std::unique_ptr<comm::Channel> open(int world_rank, const std::string& name, const std::vector<int>& ranks);

  const std::shared_ptr<bool> steps_begun_ = std::make_shared<bool>(false);
  rendezvous::StoreServer server_;
  std::vector<std::shared_ptr<tensor::FakeStreams>> devices_;
  std::vector<std::shared_ptr<tensor::Streams>> streams_;  // the same, but for the planted fault
  std::vector<std::unique_ptr<comm::NcclTransport>> transports_;
  std::vector<std::vector<comm::Channel*>> open_;  // by rank
};

}  // namespace troika::train
