#include "datasets/subset.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "datasets/listed_sequences_test_support.h"
#include "datasets/packed.h"
#include "datasets/padded.h"

namespace troika::datasets {
namespace {

std::shared_ptr<const data::Samples> samples(std::size_t count) {
  const auto all = ListedSequences::of_lengths(std::vector<std::int64_t>(count, 2));
  return std::make_shared<const PaddedSamples>(std::make_shared<const ListedSequences>(all), 2, "a list");
}

// The numbers that the samples have in the whole.
std::vector<std::int64_t> numbers(const data::Samples& part) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < part.samples(); ++i) found.push_back(row_of(part, i).inputs[0] / 100);
  return found;
}

TEST(Split, GivesTwoPartsThatAreTogetherAll) {
  for (const std::size_t size : {2u, 3u, 7u, 64u, 101u}) {
    for (std::size_t count = 1; count < size; ++count) {
      const Split parts = split(samples(size), static_cast<double>(count), 5);
      const auto training = numbers(*parts.training), validation = numbers(*parts.validation);
      EXPECT_EQ(validation.size(), count);
      EXPECT_EQ(training.size(), size - count);
      EXPECT_TRUE(std::is_sorted(training.begin(), training.end()));
      std::vector<std::int64_t> all(training);
      all.insert(all.end(), validation.begin(), validation.end());
      std::sort(all.begin(), all.end());
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
    }
  }
}

TEST(Split, TakesASharePerHundred) {
  EXPECT_EQ(split(samples(200), 0.1, 1).validation->samples(), 20);
  EXPECT_EQ(split(samples(200), 0.001, 1).validation->samples(), 1);
  EXPECT_EQ(split(samples(200), 1, 1).validation->samples(), 1);
}

TEST(Split, FollowsFromTheSeed) {
  const auto of = [](std::uint64_t seed) { return split(samples(100), 0.2, seed); };
  EXPECT_EQ(numbers(*of(1).validation), numbers(*of(1).validation));
  EXPECT_NE(numbers(*of(1).validation), numbers(*of(2).validation));
  EXPECT_NE(of(1).training->fingerprint(), of(2).training->fingerprint());
  EXPECT_NE(of(1).training->fingerprint(), of(1).validation->fingerprint());
}

TEST(Split, LeavesSomethingToTrainOn) {
  EXPECT_THROW(split(samples(10), 10, 1), base::ConfigError);
  EXPECT_THROW(split(samples(10), 0.99, 1), base::ConfigError);
  EXPECT_THROW(split(samples(1), 0.5, 1), base::ConfigError);
}

}  // namespace
}  // namespace troika::datasets
