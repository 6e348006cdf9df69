#include "data/samples.h"

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
}

TEST(Sampler, RefusesToSampleNothing) {
  EXPECT_THROW(Sampler(0, 1), base::BugError);
}

struct Sample {
  std::vector<std::int32_t> inputs, targets;
};

Sample sample_of(const Samples& samples, std::int64_t number) {
  Sample s{std::vector<std::int32_t>(static_cast<std::size_t>(samples.seq_len())),
           std::vector<std::int32_t>(static_cast<std::size_t>(samples.seq_len()))};
  samples.read(number, s.inputs.data(), s.targets.data());
  return s;
}

TEST(RandomSamples, ATargetIsTheTokenAfterItsInput) {
  const Sample s = sample_of(RandomSamples(50, 16, 1), 7);
  for (std::size_t t = 1; t < 16; ++t) EXPECT_EQ(s.targets[t - 1], s.inputs[t]);
}

TEST(RandomSamples, CoverTheVocabularyAndNothingElse) {
  const Sample s = sample_of(RandomSamples(5, 400, 1), 0);
  for (std::int32_t id = 0; id < 5; ++id) EXPECT_THAT(s.inputs, testing::Contains(id));
  EXPECT_THAT(s.inputs, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(5))));
}

TEST(RandomSamples, FollowFromTheSeed) {
  EXPECT_EQ(sample_of(RandomSamples(1000, 8, 3), 2).inputs, sample_of(RandomSamples(1000, 8, 3), 2).inputs);
  EXPECT_NE(sample_of(RandomSamples(1000, 8, 3), 2).inputs, sample_of(RandomSamples(1000, 8, 4), 2).inputs);
  EXPECT_NE(RandomSamples(1000, 8, 3).fingerprint(), RandomSamples(1000, 8, 4).fingerprint());
}

TEST(RandomSamples, RefuseAnEmptyVocabulary) { EXPECT_THROW(RandomSamples(0, 8, 1), base::BugError); }

}  // namespace
}  // namespace troika::data
