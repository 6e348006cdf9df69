#include "data/mixture.h"

#include <gmock/gmock.h>

#include <set>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/listed_sequences_test_support.h"
#include "data/sequence_samples.h"

namespace troika::data {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const ListedSequences> listed(std::size_t count) {
  return std::make_shared<const ListedSequences>(ListedSequences::of_lengths(std::vector<std::int64_t>(count, 4)));
}
std::shared_ptr<const Samples> source(std::size_t count) {
  return std::make_shared<const SequenceSamples>(counted_targets(listed(count), 8), 8);
}

std::multiset<std::int64_t> taken_of(const MixtureSamples& mixture, std::size_t source) {
  std::multiset<std::int64_t> taken;
  for (std::int64_t i = 0; i < mixture.samples(); ++i) {
    const auto at = mixture.source_of(i);
    if (at.source == source) taken.insert(at.sample);
  }
  return taken;
}

TEST(MixtureSamples, OfWeightOneAreTheSourcesOneBehindTheOther) {
  const MixtureSamples mixture({{source(3)}, {source(2)}}, Mix::concat, 1);
  ASSERT_EQ(mixture.samples(), 5);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(mixture.source_of(i).source, i < 3 ? 0u : 1u);
    EXPECT_EQ(mixture.source_of(i).sample, i < 3 ? i : i - 3);
  }
  EXPECT_THAT(row_of(mixture, 4).inputs, ElementsAre(101, 102, 103, 104));
  EXPECT_THROW(mixture.source_of(5), base::BugError);
}

TEST(MixtureSamples, HoldASourceAsOftenAsItsWeightSays) {
  const MixtureSamples mixture({{source(10), 2.5}, {source(4), 0.5}, {source(7), 0}}, Mix::concat, 1);
  EXPECT_EQ(mixture.samples(), 25 + 2);
  const auto first = taken_of(mixture, 0), second = taken_of(mixture, 1);
  int thrice = 0;
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_GE(first.count(i), 2u);
    thrice += first.count(i) == 3 ? 1 : 0;
  }
  EXPECT_EQ(thrice, 5);
  EXPECT_EQ(std::set<std::int64_t>(second.begin(), second.end()).size(), 2u);
}

TEST(MixtureSamples, TakeASubsetThatFollowsFromTheSeed) {
  const std::vector<MixtureSource> half{{source(1000), 0.5}};
  EXPECT_EQ(taken_of({half, Mix::concat, 1}, 0), taken_of({half, Mix::concat, 1}, 0));
  EXPECT_NE(taken_of({half, Mix::concat, 1}, 0), taken_of({half, Mix::concat, 2}, 0));
  EXPECT_NE(MixtureSamples(half, Mix::concat, 1).fingerprint(), MixtureSamples(half, Mix::concat, 2).fingerprint());
}

TEST(MixtureSamples, EndWithTheFirstOrTheLastSourceUsedUp) {
  const std::vector<MixtureSource> sources{{source(30), 0.5}, {source(60), 0.25}, {source(9), 0.25}};
  const MixtureSamples under(sources, Mix::under, 1), over(sources, Mix::over, 1);
  EXPECT_EQ(under.samples_of(0), 18);
  EXPECT_EQ(under.samples_of(1), 9);
  EXPECT_EQ(under.samples_of(2), 9);
  EXPECT_EQ(over.samples_of(0), 120);
  EXPECT_EQ(over.samples_of(1), 60);
  EXPECT_EQ(over.samples_of(2), 60);
  const auto last = taken_of(over, 2);  // 60 = 6 x 9 + 6
  for (std::int64_t i = 0; i < 9; ++i) EXPECT_THAT(last.count(i), testing::AnyOf(6u, 7u));
}

TEST(MixtureSamples, OfWhichNothingIsLeftAreRefused) {
  for (const Mix mix : {Mix::concat, Mix::under, Mix::over}) {
    EXPECT_THROW(MixtureSamples({{source(3), 0}}, mix, 1), base::ConfigError);
    EXPECT_THROW(MixtureSamples({{source(3), 1}, {source(3), -1}}, mix, 1), base::ConfigError);
  }
  EXPECT_THROW(MixtureSamples({{source(3), 0.1}}, Mix::concat, 1), base::ConfigError);
}

TEST(MixtureSamples, HaveTheSequencesOfTheirSources) {
  const auto packed =
      std::make_shared<const SequenceSamples>(counted_targets(listed(5), 8), 8, SequenceSamples::Packing::several);
  const MixtureSamples mixture({{source(2)}, {packed}}, Mix::concat, 1);
  EXPECT_THAT(mixture.lengths(0), ElementsAre(4));
  EXPECT_THAT(mixture.lengths(2), ElementsAre(4, 4));
  EXPECT_THAT(mixture.document_starts(2), ElementsAre(4));
  EXPECT_FALSE(mixture.are_full());
}

}  // namespace

namespace {
using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<const Samples> samples(std::size_t count) {
  const auto all = ListedSequences::of_lengths(std::vector<std::int64_t>(count, 2));
  return std::make_shared<const SequenceSamples>(counted_targets(std::make_shared<const ListedSequences>(all), 2), 2);
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
  EXPECT_THAT(error({1, 1}, 0.5), AllOf(HasSubstr("'a,b' has 2"), HasSubstr("one source must have at least 2")));
  EXPECT_THAT(error({5, 5}, 9), HasSubstr("the maximum is 8"));
  EXPECT_THAT(error({10}, 0.99), HasSubstr("takes 10 samples"));
}

}  // namespace

}  // namespace troika::data
