// Ranks as threads, each with a fake device that is as late as a GPU may be (tensor/fake_streams_test_support.h), and with
// channels over the stand-in for NCCL between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tensor/fake_streams_test_support.h"
#include "train/nccl_ranks_test_support.h"

namespace troika::train {

// A wait that one rank's device leaves out, counted from steps_begin().
struct PlantedFault {
  int world_rank = 0;
  tensor::ForgottenWait kind = tensor::ForgottenWait::of_compute_lane;
  std::int64_t number = 0;
};

// The devices of one run. Outlives its channels.
class FakeDevices {
 public:
  explicit FakeDevices(int ranks, std::uint64_t seed, const std::optional<PlantedFault>& fault = std::nullopt);

  NcclRanks& ranks() { return *ranks_; }
  std::vector<comm::RankChannels> channels(const mesh::Shape& shape) { return ranks_->channels(shape); }
  void steps_begin() { *steps_begun_ = true; }  // by the thread of the faulty rank
  std::shared_ptr<tensor::Streams> streams(int world_rank) { return ranks_->streams(world_rank); }

 private:
  const std::shared_ptr<bool> steps_begun_ = std::make_shared<bool>(false);
  std::unique_ptr<NcclRanks> ranks_;
};

}  // namespace troika::train
