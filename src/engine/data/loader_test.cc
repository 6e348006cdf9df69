#include "data/loader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/token_stream.h"

namespace troika::data {
namespace {
using testing::ElementsAre;
using testing::ElementsAreArray;

// One shard of tokens 0, 1, 2, ... in documents of 10.
std::shared_ptr<const TokenStream> stream_counting_by_tens(const base::TestFolder& folder, std::int32_t tokens) {
  ShardWriter writer(folder / "a.bin", 5000, "00000000000000aa");
  for (std::int32_t first = 0; first < tokens; first += 10) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(10, tokens - first)));
    std::iota(ids.begin(), ids.end(), first);
    writer.append(ids);
    writer.end_document();
  }
  writer.finish();
  return std::make_shared<const TokenStream>(TokenStream::open(folder / "a.bin"));
}

// Sample i has i % 5 + 1 positions in one sequence, each of input i; with an odd i a second sequence of 2.
class UnevenSamples final : public Samples {
 public:
  std::int64_t samples() const override { return 40; }
  std::int64_t seq_len() const override { return 8; }
  std::vector<std::int64_t> lengths(std::int64_t sample) const override {
    std::vector<std::int64_t> all{sample % 5 + 1};
    if (sample % 2 == 1) all.push_back(2);
    return all;
  }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override {
    const std::vector<std::int64_t> all = lengths(sample);
    const std::int64_t count = std::accumulate(all.begin(), all.end(), std::int64_t{0});
    std::fill_n(inputs, count, static_cast<std::int32_t>(sample));
    std::fill_n(targets, count, static_cast<std::int32_t>(sample + 1));
  }
  bool are_full() const override { return false; }
  std::string fingerprint() const override { return "uneven"; }
};

BatchRules rules(std::int64_t global, std::int64_t micro, std::int64_t start_step = 0, std::int64_t start_sample = 0) {
  BatchRules rules;
  rules.global = global;
  rules.micro = micro;
  rules.start_step = start_step;
  rules.start_sample = start_sample;
  return rules;
}

Loader::OfStep always(const Batches& batches, std::vector<int> microbatches) {
  return [&batches, microbatches](std::int64_t step) {
    std::vector<Loader::Wanted> wanted;
    for (const int microbatch : microbatches) wanted.push_back({microbatch, batches.of_step(step).at(static_cast<std::size_t>(microbatch))});
    return wanted;
  };
}

TEST(Batches, LayTheSequencesOfTheSamplesEndToEnd) {
  const UnevenSamples samples;
  const Batches batches(samples, Sampler(40, 0, SampleOrder::natural), rules(4, 2));
  const TokenBatch batch = batches.read(batches.of_step(1).at(0));  // samples 4 and 5
  ASSERT_EQ(batch.sequences.size(), 3u);
  std::vector<std::vector<std::int64_t>> found;
  for (const shape::Sequence& s : batch.sequences) found.push_back({s.length, s.sample, s.offset});
  EXPECT_THAT(found, ElementsAre(ElementsAre(5, 4, 0), ElementsAre(1, 5, 0), ElementsAre(2, 5, 1)));
  EXPECT_THAT(batch.inputs, ElementsAre(4, 4, 4, 4, 4, 5, 5, 5));
  EXPECT_THAT(batch.targets, ElementsAre(5, 5, 5, 5, 5, 6, 6, 6));
}

TEST(Batches, TheLastMicrobatchOfAStepHasWhatIsLeft) {
  const UnevenSamples samples;
  const Batches batches(samples, Sampler(40, 0, SampleOrder::natural), rules(7, 3, 2, 20));
  std::vector<std::int64_t> begins, counts;
  for (const shape::Range& microbatch : batches.of_step(3)) {
    begins.push_back(microbatch.begin);
    counts.push_back(microbatch.count);
  }
  EXPECT_THAT(begins, ElementsAre(27, 30, 33));
  EXPECT_THAT(counts, ElementsAre(3, 3, 1));
}

TEST(Batches, AreFilledByTokensInTheOrderOfTheSamples) {
  const UnevenSamples samples;  // positions 1, 4, 3, 6, 5, 3, 2, 5, 4, 7, ...
  BatchRules by_tokens = rules(10, 1);
  by_tokens.tokens = 8;
  const Batches batches(samples, Sampler(40, 0, SampleOrder::natural), by_tokens);
  std::vector<std::int64_t> counts;
  for (const shape::Range& microbatch : batches.of_step(0)) counts.push_back(microbatch.count);
  EXPECT_THAT(counts, ElementsAre(3, 1, 2, 2, 1, 1));
}

TEST(Batches, SizesAreThoseOfTheLargestMicrobatchAndOfTheAverage) {
  const UnevenSamples samples;
  const shape::MicrobatchSizes sizes = sizes_of({samples, Sampler(40, 0, SampleOrder::natural), rules(10, 2)}, 2, 1);
  EXPECT_EQ(sizes.in_step, 5);
  EXPECT_EQ(sizes.longest, 5);
  EXPECT_EQ(sizes.positions, 40 / 5.0);
  EXPECT_EQ(sizes.most_rows[0] + sizes.most_rows[1], 11);  // samples 8 and 9
  EXPECT_EQ(sizes.microbatches, 5);
  EXPECT_FALSE(sizes.even);
}

TEST(Batches, OfWhichTheLastAloneIsShorterAreEven) {
  const base::TestFolder folder;
  const TokenSamples windows(stream_counting_by_tens(folder, 43), 8, "", Tail::kept);  // 5 of 8, one of 2
  const Sampler in_order(windows.samples(), 0, SampleOrder::natural);
  EXPECT_TRUE(sizes_of({windows, in_order, rules(6, 2)}, 1, 1).even);
  EXPECT_FALSE(sizes_of({windows, in_order, rules(6, 2)}, 1, 2).even) << "others follow it";
}

TEST(Loader, GivesTheRowsOfTheGlobalOrderToEachRank) {
  const base::TestFolder folder;
  const TokenSamples dataset(stream_counting_by_tens(folder, 401), 8);
  const Sampler sampler(dataset.samples(), 3);
  // 3 microbatches of 2 samples a step; rank 0 loads 0 and 2, rank 1 loads 1.
  const Batches batches(dataset, sampler, rules(6, 2, 5, 30));
  Loader first(batches, always(batches, {0, 2}), 2), second(batches, always(batches, {1}), 1);
  for (std::int64_t step = 5; step < 60; ++step) {  // more than an epoch
    for (const int microbatch : {0, 1, 2}) {
      const TokenBatch batch = (microbatch == 1 ? second : first).next(step, microbatch);
      ASSERT_EQ(batch.sequences.size(), 2u);
      for (std::int64_t row = 0; row < 2; ++row) {
        const shape::Sequence& sequence = batch.sequences[static_cast<std::size_t>(row)];
        ASSERT_EQ(sequence.sample, step * 6 + microbatch * 2 + row);
        ASSERT_EQ(sequence.length, 8);
        const auto sample = sampler.sample_at(static_cast<std::uint64_t>(sequence.sample));
        for (std::int64_t t = 0; t < 8; ++t) {
          const auto at = static_cast<std::size_t>(row * 8 + t);
          ASSERT_EQ(batch.inputs[at], static_cast<std::int64_t>(sample) * 8 + t);
          ASSERT_EQ(batch.targets[at], batch.inputs[at] + 1);
        }
      }
    }
  }
  EXPECT_GE(first.waited_seconds(), 0);
}

TEST(Loader, ContinuesWhereTheDataWereWhenTheBatchSizeChanges) {
  const base::TestFolder folder;
  const TokenSamples dataset(stream_counting_by_tens(folder, 401), 8);
  const Batches batches(dataset, Sampler(dataset.samples(), 3), rules(4, 4, 10, 60));
  Loader loader(batches, always(batches, {0}), 2);
  EXPECT_EQ(loader.next(10, 0).sequences.front().sample, 60);
  EXPECT_EQ(loader.next(11, 0).sequences.front().sample, 64);
}

TEST(Loader, ReadsWhatTheRankHasInEachStep) {
  const UnevenSamples samples;
  const Batches batches(samples, Sampler(40, 0, SampleOrder::natural), rules(4, 2));
  const Loader::OfStep both = always(batches, {1, 0});
  Loader loader(batches, [&](std::int64_t step) { return step % 8 == 7 ? both(step) : std::vector<Loader::Wanted>(); }, 2);
  for (const std::int64_t step : {7, 15}) {
    for (std::int64_t before = step - 7; before < step; ++before) loader.begin_step(before);
    EXPECT_EQ(loader.next(step, 1).sequences.front().sample, step * 4 + 2);
    EXPECT_EQ(loader.next(step, 0).sequences.front().sample, step * 4);
  }
}

TEST(Loader, RefusesWhatIsNotNextInThePlan) {
  const base::TestFolder folder;
  const TokenSamples dataset(stream_counting_by_tens(folder, 401), 8);
  const Batches batches(dataset, Sampler(dataset.samples(), 3), rules(4, 2));
  Loader loader(batches, always(batches, {0, 1}), 2);
  EXPECT_THAT(base::message_of<base::BugError>([&] { loader.next(0, 1); }),
              testing::HasSubstr("microbatch 0 of step 0 is next"));
  EXPECT_EQ(loader.next(0, 0).sequences.size(), 2u);
}

TEST(Loader, EndsAtOnceWithBatchesUnread) {
  const base::TestFolder folder;
  const TokenSamples dataset(stream_counting_by_tens(folder, 401), 8);
  const Batches batches(dataset, Sampler(dataset.samples(), 3), rules(4, 2));
  for (int i = 0; i < 50; ++i) {
    Loader loader(batches, always(batches, {0, 1}), 3);
    if (i % 2 == 0) loader.next(0, 0);
  }
}

}  // namespace
}  // namespace troika::data
