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

TEST(Loader, GivesTheRowsOfTheGlobalOrderToEachRank) {
  const base::TestFolder folder;
  const TokenSamples dataset(stream_counting_by_tens(folder, 401), 8);
  const Sampler sampler(dataset.samples(), 3);
  // 3 microbatches of 2 rows a step; rank 0 loads 0 and 2, rank 1 loads 1.
  Loader first(dataset, sampler, {6, 2, {0, 2}, 5, 30, 2}), second(dataset, sampler, {6, 2, {1}, 5, 30, 1});
  for (std::int64_t step = 5; step < 60; ++step) {  // more than an epoch
    for (const int microbatch : {0, 1, 2}) {
      const TokenBatch batch = (microbatch == 1 ? second : first).next(step, microbatch);
      ASSERT_EQ(batch.first_sample, step * 6 + microbatch * 2);
      ASSERT_EQ(batch.rows, 2);
      ASSERT_EQ(batch.length, 8);
      for (std::int64_t row = 0; row < 2; ++row) {
        const auto sample = sampler.sample_at(static_cast<std::uint64_t>(batch.first_sample + row));
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

TEST(Loader, ContinuesWhereTheDataStoodWhenTheBatchSizeChanges) {
  const base::TestFolder folder;
  const TokenSamples dataset(stream_counting_by_tens(folder, 401), 8);
  const Sampler sampler(dataset.samples(), 3);
  Loader loader(dataset, sampler, {4, 4, {0}, 10, 60, 2});
  EXPECT_EQ(loader.next(10, 0).first_sample, 60);
  EXPECT_EQ(loader.next(11, 0).first_sample, 64);
}

TEST(Loader, RefusesWhatIsNotNextInThePlan) {
  const base::TestFolder folder;
  const TokenSamples dataset(stream_counting_by_tens(folder, 401), 8);
  const Sampler sampler(dataset.samples(), 3);
  Loader loader(dataset, sampler, {4, 2, {0, 1}, 0, 0, 2});
  EXPECT_THAT(base::message_of<base::BugError>([&] { loader.next(0, 1); }),
              testing::HasSubstr("microbatch 0 of step 0 is next"));
  EXPECT_EQ(loader.next(0, 0).microbatch, 0);
  EXPECT_THROW(Loader(dataset, sampler, {4, 2, {2}, 0, 0, 2}), base::BugError);
  EXPECT_THROW(Loader(dataset, sampler, {4, 2, {}, 0, 0, 2}).next(0, 0), base::BugError);
}

TEST(Loader, EndsAtOnceWithBatchesUnread) {
  const base::TestFolder folder;
  const TokenSamples dataset(stream_counting_by_tens(folder, 401), 8);
  for (int i = 0; i < 50; ++i) {
    Loader loader(dataset, Sampler(dataset.samples(), 3), {4, 2, {0, 1}, 0, 0, 3});
    if (i % 2 == 0) loader.next(0, 0);
  }
}

TEST(FillBatch, MarksDocumentStartsAndRowsWithoutASample) {
  const base::TestFolder folder;
  const TokenSamples dataset(stream_counting_by_tens(folder, 100), 8);
  TokenBatch batch;
  fill_batch(dataset, {0, 1}, 3, &batch);
  EXPECT_THAT(batch.document_starts, ElementsAre(8 + 2));  // token 10; token 8 begins row 1, no document
  EXPECT_EQ(batch.inputs[16], 0);
  for (std::size_t i = 16; i < 24; ++i) EXPECT_EQ(batch.targets[i], ignore_index);
  EXPECT_EQ(batch.targets[15], 16);
  EXPECT_THROW(fill_batch(dataset, {0, 1}, 1, &batch), base::BugError);
}

}  // namespace
}  // namespace troika::data
