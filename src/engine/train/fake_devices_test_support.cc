#include "train/fake_devices_test_support.h"

namespace troika::train {

static constexpr double deadline_seconds = 60;

FakeDevices::FakeDevices(int ranks, std::uint64_t seed, const std::optional<PlantedFault>& fault) {
  const auto machine = tensor::make_fake_machine(seed, deadline_seconds);
  std::vector<std::shared_ptr<tensor::FakeStreams>> devices;
  std::vector<std::shared_ptr<tensor::Streams>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    devices.push_back(tensor::make_fake_streams(machine));
    std::shared_ptr<tensor::Streams> streams = devices.back();
    if (fault && fault->world_rank == rank) streams = tensor::forgetful(streams, fault->kind, fault->number, steps_begun_);
    all.push_back(std::move(streams));
  }
  ranks_ = std::make_unique<NcclRanks>(std::move(all), deadline_seconds);
  for (int rank = 0; rank < ranks; ++rank)
    devices[static_cast<std::size_t>(rank)]->while_standing([this, rank] { ranks_->check(rank); });
}

}  // namespace troika::train
