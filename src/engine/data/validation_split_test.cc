#include "data/validation_split.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/listed_sequences_test_support.h"
#include "data/sequence_samples.h"

namespace troika::data {
namespace {
using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<const Samples> samples(std::size_t count) {
  const auto all = ListedSequences::of_lengths(std::vector<std::int64_t>(count, 2));
  return std::make_shared<const PaddedSamples>(std::make_shared<const ListedSequences>(all), 2, "a list");
}

// The numbers that the samples have in the whole.
std::vector<std::int64_t> numbers(const Samples& part) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < part.samples(); ++i) found.push_back(row_of(part, i).inputs[0] / 100);
  return found;
}

TEST(Split, GivesTwoPartsThatAreTogetherAll) {
  for (const std::size_t size : {2u, 3u, 7u, 64u, 101u}) {
    for (std::size_t count = 1; count < size; ++count) {
      const Split parts = split(samples(size), static_cast<std::int64_t>(count), 5);
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

TEST(Split, FollowsFromTheSeed) {
  const auto of = [](std::uint64_t seed) { return split(samples(100), 20, seed); };
  EXPECT_EQ(numbers(*of(1).validation), numbers(*of(1).validation));
  EXPECT_NE(numbers(*of(1).validation), numbers(*of(2).validation));
  EXPECT_NE(of(1).training->fingerprint(), of(2).training->fingerprint());
  EXPECT_NE(of(1).training->fingerprint(), of(1).validation->fingerprint());
}

using Counts = std::vector<std::int64_t>;

TEST(ValidationCounts, AreAShareOrACountInProportion) {
  EXPECT_EQ(validation_counts({200}, 0.1, "a"), Counts{20});
  EXPECT_EQ(validation_counts({200}, 0.001, "a"), Counts{1});
  EXPECT_EQ(validation_counts({200}, 1, "a"), Counts{1});
  EXPECT_EQ(validation_counts({40, 60}, 0.1, "a,b"), (Counts{4, 6}));
  EXPECT_EQ(validation_counts({40, 60}, 10, "a,b"), (Counts{4, 6}));
}

TEST(ValidationCounts, LeaveEachSourceASampleToTrainOn) {
  EXPECT_EQ(validation_counts({1, 100}, 0.1, "a,b"), (Counts{0, 10}));
  EXPECT_EQ(validation_counts({100, 1}, 0.1, "a,b"), (Counts{10, 0}));
  EXPECT_EQ(validation_counts({1, 1, 3}, 0.4, "a,b,c"), (Counts{0, 0, 2}));
  EXPECT_EQ(validation_counts({3, 1, 1}, 2, "a,b,c"), (Counts{2, 0, 0}));
  const auto error = [](const Counts& sizes, double share) {
    return base::message_of<base::ConfigError>([&] { validation_counts(sizes, share, "a,b"); });
  };
  EXPECT_THAT(error({1, 1}, 0.5), AllOf(HasSubstr("'a,b' has 2"), HasSubstr("one source must have 2 at least")));
  EXPECT_THAT(error({5, 5}, 9), HasSubstr("the most that works is 8"));
  EXPECT_THAT(error({10}, 0.99), HasSubstr("takes 10 samples"));
}

}  // namespace
}  // namespace troika::data
