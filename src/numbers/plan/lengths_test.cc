#include "plan/lengths.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace troika::plan {
namespace {
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::SizeIs;

constexpr PositionCosts costs{100, 1};

std::vector<shape::Sequence> microbatch(const std::vector<std::int64_t>& lengths, std::int64_t first) {
  std::vector<shape::Sequence> all;
  for (const std::int64_t length : lengths) all.push_back({length, first++, 0});
  return all;
}

records::SampleLengths lengths_of(const std::vector<std::vector<std::int64_t>>& microbatches, std::int64_t seq_len) {
  std::int64_t samples = 0;
  for (const auto& lengths : microbatches) samples += static_cast<std::int64_t>(lengths.size());
  LengthCount count(samples, seq_len, costs);
  std::int64_t first = 0;
  for (const auto& lengths : microbatches) {
    for (const std::int64_t length : lengths) count.add_sample({length});
    count.add_microbatch(microbatch(lengths, first), 3 * (first + 1));
    first += static_cast<std::int64_t>(lengths.size());
  }
  return count.result();
}

TEST(Lengths, SamplesAreCountedByPowersOfTwo) {
  const records::SampleLengths l = lengths_of({{20, 32, 33, 300}}, 512);
  EXPECT_EQ(l.samples, 4);
  EXPECT_EQ(l.tokens, 385);
  EXPECT_EQ(l.shortest, 20);
  EXPECT_EQ(l.median, 32);
  EXPECT_EQ(l.p90, 300);
  EXPECT_EQ(l.longest, 300);
  ASSERT_THAT(l.bins, SizeIs(5));
  EXPECT_EQ(l.bins[0].above, 16);
  EXPECT_EQ(l.bins[0].samples, 2);
  EXPECT_EQ(l.bins[1].samples, 1);
  EXPECT_EQ(l.bins[2].samples, 0);
  EXPECT_EQ(l.bins[4].up_to, 512);
  EXPECT_EQ(l.bins[4].samples, 1);
  EXPECT_EQ(l.if_packed(), 1);
}

TEST(Lengths, PaddingIsCountedByMicrobatch) {
  const records::SampleLengths l = lengths_of({{10, 30}, {40, 40}}, 100);
  EXPECT_EQ(l.least_tokens, 40);
  EXPECT_EQ(l.most_tokens, 80);
  EXPECT_DOUBLE_EQ(l.mean_tokens, 60);
  EXPECT_DOUBLE_EQ(l.longest_positions, 140.0 / 120);
  EXPECT_DOUBLE_EQ(l.full_positions, 400.0 / 120);
  const double computed = 120 * 100 + (100 + 900 + 1600 + 1600);
  EXPECT_DOUBLE_EQ(l.longest_work, (140 * 100 + 2 * 900 + 2 * 1600) / computed);
  EXPECT_DOUBLE_EQ(l.full_work, 4 * (100 * 100 + 10000) / computed);
}

TEST(Lengths, WhatARunRecordsGivesTheSizesOfItsMicrobatches) {
  const records::SampleLengths l = lengths_of({{10, 30}, {40, 40}}, 100);
  config::Batch batch;
  batch.micro = 2;
  batch.global = 4;
  batch.seq_len = 100;
  const shape::MicrobatchSizes sizes = sizes_of(l)(batch, 1, 7);
  EXPECT_EQ(sizes.most_rows.at(0), 80);
  EXPECT_EQ(sizes.longest, 40);
  EXPECT_EQ(sizes.in_step, 2);
  EXPECT_DOUBLE_EQ(sizes.positions, 60);
  EXPECT_DOUBLE_EQ(sizes.squares, (100 + 900 + 1600 + 1600) / 2.0);
  EXPECT_EQ(sizes.most_with_loss, 9);
  EXPECT_DOUBLE_EQ(sizes.with_loss, (3 + 9) / 2.0);
  records::SampleLengths earlier = l;  // which did not count them
  earlier.most_targets = 0;
  EXPECT_EQ(sizes_of(earlier)(batch, 1, 7).most_with_loss, 80);
  EXPECT_DOUBLE_EQ(sizes_of(earlier)(batch, 1, 7).with_loss, 60);
}

TEST(Lengths, PackedSequencesArePaddedBehindTheLast) {
  LengthCount count(2, 100, costs);
  count.add_sample({50, 40});
  count.add_sample({100});
  count.add_microbatch({{50, 0, 0}, {40, 0, 50}, {100, 1, 0}}, 190);
  const records::SampleLengths l = count.result();
  EXPECT_TRUE(l.packed());
  EXPECT_EQ(l.sequences, 3);
  EXPECT_DOUBLE_EQ(l.longest_work, (200 * 100 + 2500 + 1600 + 100 + 10000) / (190.0 * 100 + 2500 + 1600 + 10000));
  EXPECT_THAT(lengths_text(l, base::Language::english), HasSubstr("packed: 3 sequences in 2 samples"));
}

TEST(Lengths, EqualLengthsHaveNoPadding) {
  const records::SampleLengths l = lengths_of({{64, 64}}, 64);
  EXPECT_DOUBLE_EQ(l.longest_positions, 1);
  EXPECT_DOUBLE_EQ(l.full_work, 1);
  EXPECT_EQ(describe_samples(l).english, "2 samples of 64 tokens");
  EXPECT_THAT(describe_microbatches(l).english, Not(HasSubstr("padded")));
}

TEST(Lengths, TheTextHasBarsAndFitsInto80Columns) {
  std::vector<std::vector<std::int64_t>> all;
  for (int i = 0; i < 200; ++i) all.push_back({8 + i * 10, 8 + i});
  const std::string text = lengths_text(lengths_of(all, 2048), base::Language::english);
  EXPECT_THAT(text, AllOf(HasSubstr("400 samples of 8 to 1998 tokens"), HasSubstr("####"), HasSubstr("1025 - 1998")));
  std::vector<std::size_t> widths;
  for (const std::string& line : base::split(text, '\n')) widths.push_back(line.size());
  EXPECT_THAT(widths, Each(Le(80u)));
  EXPECT_EQ(describe_microbatches(lengths_of({{10, 30}}, 100)).english,
            "a microbatch has 40 tokens; padded to its longest sample it would compute 1.50 times as many");
}

}  // namespace
}  // namespace troika::plan
