#include "data/sampler.h"

#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "base/error.h"

namespace troika::data {
namespace {

std::vector<std::uint64_t> epoch_of(const Sampler& sampler, std::uint64_t epoch) {
  std::vector<std::uint64_t> order;
  const auto samples = static_cast<std::uint64_t>(sampler.samples());
  for (std::uint64_t i = 0; i < samples; ++i) order.push_back(sampler.sample_at(epoch * samples + i));
  return order;
}

TEST(Sampler, CoversEverySampleOncePerEpoch) {
  for (const std::int64_t samples : {1, 2, 3, 17, 1000}) {
    const Sampler sampler(samples, 7);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      const auto order = epoch_of(sampler, epoch);
      const std::set<std::uint64_t> distinct(order.begin(), order.end());
      EXPECT_EQ(distinct.size(), order.size());
      EXPECT_EQ(*distinct.rbegin(), static_cast<std::uint64_t>(samples - 1));
      EXPECT_EQ(sampler.locate(epoch * static_cast<std::uint64_t>(samples)).epoch, epoch);
    }
  }
}

TEST(Sampler, ShufflesEachEpochAndSeedAnew) {
  const Sampler sampler(1000, 7), same(1000, 7), other(1000, 8);
  EXPECT_NE(epoch_of(sampler, 0), epoch_of(sampler, 1));
  EXPECT_NE(epoch_of(sampler, 0), epoch_of(other, 0));
  EXPECT_EQ(epoch_of(sampler, 1), epoch_of(same, 1));
}

TEST(Sampler, KeepsTheNaturalOrderInEveryEpochWhenAsked) {
  const Sampler sampler(5, 7, SampleOrder::natural);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
    EXPECT_EQ(epoch_of(sampler, epoch), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(sampler.locate(12).epoch, 2u);
}

TEST(Sampler, CountsTheStepsOfEpochs) {
  EXPECT_EQ(steps_per_epoch(100, 12), 8);
  EXPECT_EQ(steps_per_epoch(5, 12), 1);
  EXPECT_EQ(steps_for_epochs(100, 12, 3), 25);
  EXPECT_EQ(steps_for_epochs(100, 10, 0.5), 5);
  EXPECT_THROW(Sampler(0, 1), base::BugError);
}

}  // namespace
}  // namespace troika::data
