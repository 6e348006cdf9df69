#include "data/batches.h"

#include <gmock/gmock.h>

#include "data/listed_sequences_test_support.h"
#include "data/sequence_samples.h"

namespace troika::data {
namespace {
using Packing = SequenceSamples::Packing;

constexpr plan::PositionCosts costs{100, 1};

SequenceSamples samples_of(const std::vector<std::int64_t>& lengths, Packing packing = Packing::none) {
  return {counted_targets(std::make_shared<const ListedSequences>(ListedSequences::of_lengths(lengths)), 64), 64, packing};
}

BatchRules rules_of_two() {
  BatchRules rules;
  rules.global = 4;
  rules.micro = 2;
  return rules;
}

TEST(LengthsOfSamples, AllSamplesOfAnEpochAreCountedOnce) {
  const SequenceSamples samples = samples_of({10, 20, 30, 40, 50, 100, 7, 9});
  const Sampler in_order(samples.samples(), 0, SampleOrder::natural);
  const records::SampleLengths l = lengths_of(samples, in_order, rules_of_two(), costs);
  EXPECT_EQ(l.samples, 8);
  EXPECT_EQ(l.counted, 8);
  EXPECT_EQ(l.tokens, 10 + 20 + 30 + 40 + 50 + 64 + 7 + 9);
  EXPECT_EQ(l.longest, 64);
  EXPECT_EQ(l.least_tokens, 16);
  EXPECT_EQ(l.most_tokens, 114);
  EXPECT_DOUBLE_EQ(l.longest_positions, 2 * (20 + 40 + 64 + 9) / 230.0);
  EXPECT_DOUBLE_EQ(l.full_positions, 8 * 64 / 230.0);
}

// A sequence of n ids has n - 1 targets.
TEST(SizesOfMicrobatches, CountThePositionsThatCarryLoss) {
  const SequenceSamples samples = samples_of({10, 20, 30, 40, 50, 100, 7, 9});
  const Sampler in_order(samples.samples(), 0, SampleOrder::natural);
  const shape::MicrobatchSizes sizes = sizes_of({samples, in_order, rules_of_two()}, 1, 2);
  EXPECT_EQ(sizes.most_rows.at(0), 114);
  EXPECT_EQ(sizes.most_with_loss, 112);
  EXPECT_DOUBLE_EQ(sizes.with_loss, (230 - 8) / 4.0);
  const records::SampleLengths l = lengths_of(samples, in_order, rules_of_two(), costs);
  EXPECT_EQ(l.most_targets, 112);
  EXPECT_DOUBLE_EQ(l.mean_targets, (230 - 8) / 4.0);
  const SequenceSamples packed = samples_of({30, 30, 64}, Packing::several);
  EXPECT_EQ(packed.targets(0), 58);
  EXPECT_EQ(packed.targets(1), 63);
}

TEST(LengthsOfSamples, PackedSamplesCountTheirSequences) {
  const SequenceSamples samples = samples_of({30, 30, 20, 40, 60, 4, 64, 5}, Packing::several);
  const Sampler in_order(samples.samples(), 0, SampleOrder::natural);
  const records::SampleLengths l = lengths_of(samples, in_order, rules_of_two(), costs);
  EXPECT_TRUE(l.packed());
  EXPECT_EQ(l.sequences, 8);
  EXPECT_EQ(l.samples, samples.samples());
}

TEST(LengthsOfSamples, OfManySamplesAnEvenlySpacedPartIsCounted) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 1000; ++i) lengths.push_back(1 + i % 50);
  const SequenceSamples samples = samples_of(lengths);
  const records::SampleLengths l = lengths_of(samples, Sampler(1000, 7), rules_of_two(), costs, 101);
  EXPECT_EQ(l.samples, 1000);
  EXPECT_EQ(l.counted, 101);
  EXPECT_NEAR(l.mean(), 25.5, 3);
  EXPECT_GT(l.most_tokens, l.least_tokens);
}

TEST(LengthsOfSamples, LessThanAStepOfSamplesIsOneStep) {
  const SequenceSamples samples = samples_of({10, 20});
  const records::SampleLengths l =
      lengths_of(samples, Sampler(2, 0, SampleOrder::natural), rules_of_two(), costs);
  EXPECT_EQ(l.counted, 2);
  EXPECT_EQ(l.most_tokens, 30);
}

}  // namespace
}  // namespace troika::data
