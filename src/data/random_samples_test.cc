#include "data/random_samples.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::data {
namespace {

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
