#include "data/sequence_samples.h"

#include <gmock/gmock.h>

#include <set>

#include "base/draw_test_support.h"
#include "base/error.h"
#include "data/listed_sequences_test_support.h"
#include "data/loader.h"

namespace troika::data {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;
constexpr std::int32_t none = ignore_index;

// Sequences without a target are kept.
SequenceSamples samples_of(ListedSequences all, std::int64_t seq_len, SequenceSamples::Packing packing) {
  return SequenceSamples(counted_targets(std::make_shared<const ListedSequences>(std::move(all)), seq_len), seq_len, packing);
}

SequenceSamples single(std::vector<ListedSequences::One> all, std::int64_t seq_len) {
  return samples_of(ListedSequences(std::move(all)), seq_len, SequenceSamples::Packing::none);
}

TEST(SingleSequences, AreTheSequencesCutToTheLength) {
  const SequenceSamples samples = single({{{1, 2, 3}, {1, 2, 3}},
                                        {{5, 6, 7, 8, 9, 10}, {5, 6, none, 8, 9, 10}},
                                        {{4}, {4}},
                                        {{1, 2, 3, 4, 5}, {none, none, 3, 4, 5}}},
                                       5);
  ASSERT_EQ(samples.samples(), 4);
  EXPECT_EQ(samples.truncated(), 1);
  EXPECT_EQ(samples.tokens(), 3 + 5 + 1 + 5);
  EXPECT_THAT(samples.lengths(0), ElementsAre(3));
  EXPECT_THAT(samples.lengths(1), ElementsAre(5));
  EXPECT_EQ(samples.targets(0), 2);
  EXPECT_EQ(samples.targets(1), 3);
  EXPECT_EQ(samples.targets(2), 0);
  EXPECT_FALSE(samples.are_full());
  EXPECT_THAT(samples.document_starts(0), IsEmpty());
  EXPECT_THAT(row_of(samples, 0).inputs, ElementsAre(1, 2, 3));
  EXPECT_THAT(row_of(samples, 0).targets, ElementsAre(2, 3, none));
  EXPECT_THAT(row_of(samples, 1).inputs, ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(row_of(samples, 1).targets, ElementsAre(6, none, 8, 9, none));
  EXPECT_THAT(row_of(samples, 2).targets, ElementsAre(none));
  EXPECT_THAT(row_of(samples, 3).targets, ElementsAre(none, 3, 4, 5, none));
  EXPECT_THROW(row_of(samples, 4), base::BugError);
}

TEST(SingleSequences, NeedATargetWithinTheLength) {
  const auto check = [](std::vector<ListedSequences::One> all, std::int64_t seq_len) { check_targets(ListedSequences(std::move(all)), seq_len, "a list"); };
  EXPECT_THROW(check({{{1}, {1}}, {{1, 2}, {1, none}}}, 5), base::DataError);
  EXPECT_THROW(check({{{1, 2, 3}, {none, none, 3}}}, 2), base::DataError);
  EXPECT_NO_THROW(check({{{1, 2, 3}, {none, none, 3}}}, 3));
  EXPECT_THROW(check({}, 3), base::DataError);
}

TEST(SingleSequences, HaveAnotherFingerprintForAnotherLength) {
  EXPECT_NE(single({{{1, 2}, {1, 2}}}, 3).fingerprint(), single({{{1, 2}, {1, 2}}}, 4).fingerprint());
}

using testing::ElementsAre;
using testing::IsEmpty;
using Lengths = std::vector<std::int64_t>;

SequenceSamples packed(const Lengths& lengths, std::int64_t seq_len) {
  return samples_of(ListedSequences::of_lengths(lengths), seq_len, SequenceSamples::Packing::several);
}

TEST(Pack, PutsTheLongestFirstIntoTheFullestBinThatHasRoom) {
  EXPECT_THAT(pack({3, 5, 2, 4, 6}, 10), ElementsAre(0, 0, 0, 1, 1));  // 6 4, then 5 3 2
}

TEST(PackedSequences, HoldWholeSequencesBesideEachOther) {
  const SequenceSamples samples = packed({3, 4, 2, 9}, 6);
  ASSERT_EQ(samples.samples(), 3);
  EXPECT_THAT(samples.sequences_of(0), ElementsAre(0));
  EXPECT_THAT(samples.sequences_of(1), ElementsAre(1, 2));
  EXPECT_THAT(samples.sequences_of(2), ElementsAre(3));
  EXPECT_THAT(row_of(samples, 0).inputs, ElementsAre(1, 2, 3));
  EXPECT_THAT(row_of(samples, 1).inputs, ElementsAre(101, 102, 103, 104, 201, 202));
  EXPECT_THAT(row_of(samples, 2).inputs, ElementsAre(301, 302, 303, 304, 305, 306));
  EXPECT_EQ(samples.truncated(), 1);
  EXPECT_EQ(samples.tokens(), 3 + 4 + 2 + 6);
  EXPECT_DOUBLE_EQ(samples.fill(), 15.0 / 18);
  EXPECT_THROW(row_of(samples, 3), base::BugError);
}

TEST(PackedSequences, HaveNoTargetIntoTheNextDocument) {
  const SequenceSamples samples = packed({3, 4, 2, 9}, 6);
  EXPECT_THAT(samples.lengths(1), ElementsAre(4, 2));
  EXPECT_THAT(row_of(samples, 0).targets, ElementsAre(2, 3, none));
  EXPECT_THAT(row_of(samples, 1).targets, ElementsAre(102, 103, 104, none, 202, none));
  EXPECT_THAT(samples.document_starts(0), IsEmpty());
  EXPECT_THAT(samples.document_starts(1), ElementsAre(4));
  EXPECT_THAT(samples.document_starts(2), IsEmpty());
}

TEST(PackedSequences, NeedATarget) {
  EXPECT_THROW(packed({1, 1, 1}, 8), base::BugError);
  EXPECT_THROW(packed({}, 8), base::BugError);
}

// No two bins could be one, which bounds the waste below a half; and every sequence is there once.
TEST(Pack, NeverLeavesTwoBinsThatWouldFitIntoOne) {
  base::Draw draw("pack");
  for (int round = 0; round < 50; ++round) {
    const std::int64_t room = draw.from(1, 40);
    Lengths lengths;
    for (std::int64_t i = draw.from(1, 200); i > 0; --i) lengths.push_back(draw.from(1, static_cast<int>(room)));
    const Lengths bins = pack(lengths, room);
    Lengths sums(static_cast<std::size_t>(*std::max_element(bins.begin(), bins.end())) + 1);
    for (std::size_t i = 0; i < bins.size(); ++i) sums[static_cast<std::size_t>(bins[i])] += lengths[i];
    EXPECT_LE(*std::max_element(sums.begin(), sums.end()), room);
    std::sort(sums.begin(), sums.end());
    ASSERT_GT(sums[0], 0);
    EXPECT_TRUE(sums.size() == 1 || sums[0] + sums[1] > room);
    EXPECT_EQ(pack(lengths, room), bins);
  }
}

TEST(PackedSequences, OfManyShortSequencesAreAlmostFull) {
  base::Draw draw("lengths");
  Lengths lengths;
  for (int i = 0; i < 20000; ++i) lengths.push_back(draw.from(20, 900));
  const SequenceSamples samples = packed(lengths, 2048);
  EXPECT_GT(samples.fill(), 0.995);
  std::set<std::int64_t> seen;
  for (std::int64_t sample = 0; sample < samples.samples(); ++sample) {
    const Lengths here = samples.sequences_of(sample);
    EXPECT_TRUE(std::is_sorted(here.begin(), here.end()));
    seen.insert(here.begin(), here.end());
  }
  EXPECT_EQ(seen.size(), lengths.size());
}

}  // namespace
}  // namespace troika::data
