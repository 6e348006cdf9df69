#include "config/micro_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::int64_t> sizes(const Resolved& run) {
  std::vector<std::int64_t> sizes;
  for (const Batch& batch : run.batch_candidates) sizes.push_back(batch.micro);
  return sizes;
}

TEST(MicroBatch, TheSequencesPerStepStayWhereTheyAreStated) {
  const Resolved run = resolved({"--global-batch-size", "24", "--find-micro-batch-size"}, 2);
  EXPECT_THAT(sizes(run), ElementsAre(1, 2, 3, 4, 6, 12));
  for (const Batch& batch : run.batch_candidates) {
    EXPECT_EQ(batch.global, 24);
    EXPECT_EQ(batch.micro * batch.microbatches, 24);
  }
}

TEST(MicroBatch, AccumulationKeepsItsRounds) {
  EXPECT_THAT(sizes(resolved({"--batch_size", "8", "--gradient_accumulation_steps", "3", "--auto_find_batch_size"}, 1)),
              ElementsAre(1, 2, 4, 8));
}

TEST(MicroBatch, AStatedSizeThatContradictsTheTotalIsLeftOut) {
  const Resolved run = resolved({"--micro-batch-size", "5", "--global-batch-size", "12", "--find-micro-batch-size"}, 1);
  EXPECT_EQ(run.batch.global, 12);
  EXPECT_THAT(sizes(run), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_NE(resolve_error({"--global-batch-size", "7", "--find-micro-batch-size"}, 2), "");
}

TEST(MicroBatch, WithoutATotalTheMicrobatchesStay) {
  const Resolved run = resolved({"--micro-batch-size", "2", "--batch.microbatches", "3", "--find-micro-batch-size"}, 2);
  EXPECT_EQ(sizes(run).size(), 24u);
  EXPECT_THAT(std::vector<std::int64_t>(sizes(run)).back(), most_free_micro_batch);
  for (const Batch& batch : run.batch_candidates) {
    EXPECT_EQ(batch.microbatches_per_rank, 3);
    EXPECT_EQ(batch.global, batch.micro * 6);
  }
}

TEST(MicroBatch, WithoutTheSettingThereIsNothingToChoose) {
  EXPECT_THAT(sizes(resolved({"--global-batch-size", "24"}, 2)), IsEmpty());
}

TEST(MicroBatch, TheChosenBatchPinsTheRun) {
  const Resolved run = resolved({"--global-batch-size", "24", "--find-micro-batch-size"}, 2);
  const Resolved chosen = with_batch(run, run.batch_candidates[3]);
  EXPECT_EQ(chosen.batch.micro, 4);
  EXPECT_FALSE(chosen.settings.batch.find_micro_batch_size);
  EXPECT_EQ(resolve(chosen.settings, 2).batch.micro, 4);
  EXPECT_EQ(resolve(chosen.settings, 2).batch.global, 24);
  EXPECT_EQ(to_yaml(resolve(run.settings, 2).settings), to_yaml(run.settings)) << "resolving again changes nothing";
}

}  // namespace
}  // namespace troika::config
