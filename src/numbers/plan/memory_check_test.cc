#include "plan/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/batch.h"
#include "plan/plan_test_support.h"

namespace troika::plan {
namespace {

std::vector<config::Batch> candidates() {
  std::vector<config::Batch> batches(3);
  batches[0].micro = 8;
  batches[1].micro = 12;
  batches[2].micro = 16;
  return batches;
}

TEST(BatchFit, TheLargestThatFitsOnEveryRankIsTaken) {
  const std::vector<RankNeeds> ranks = {{14 * gib, {8 * gib, 11 * gib, 13 * gib}},
                                        {12 * gib, {8 * gib, 11 * gib, 15 * gib}}};
  EXPECT_EQ(largest_fitting(ranks), 1);
  EXPECT_EQ(describe_fit(candidates(), ranks).english,
            "micro batch 12 fits (11.0 GiB of 12.0 GiB), 16 does not (15.0 GiB of 12.0 GiB)");
}

TEST(BatchFit, SaysWhenThereIsNothingLargerAndWhenNothingFits) {
  EXPECT_EQ(describe_fit(candidates(), {{14 * gib, {1 * gib, 2 * gib, 3 * gib}}}).english,
            "micro batch 16 fits (3.00 GiB of 14.0 GiB), the largest there is to choose");
  const std::vector<RankNeeds> none = {{1 * gib, {2 * gib, 3 * gib, 4 * gib}}};
  EXPECT_EQ(largest_fitting(none), -1);
  EXPECT_EQ(describe_fit(candidates(), none).english, "micro batch 8 does not fit (2.00 GiB of 1.00 GiB)");
}

TEST(BatchFit, ACandidateWithoutAPlanDoesNotFit) {
  const std::vector<RankNeeds> ranks = {{14 * gib, {-1, 2 * gib, -1}}};
  EXPECT_EQ(largest_fitting(ranks), 1);
  EXPECT_THAT(describe_fit(candidates(), ranks).english, testing::HasSubstr("16 does not (no plan can be made)"));
}

TEST(BatchFit, OnAGpuItsOperationsAndLibrariesCount) {
  config::Settings s = small_settings();
  s.batch.find_micro_batch_size = true;
  s.precision.compute = config::Precision::bf16;
  const config::Resolved resolved = config::resolve(s, 1);
  const RankNeeds needs = needs_of_rank(resolved, small_data(), 0, {Room::Where::gpu, 6 * gib, 2});
  EXPECT_EQ(needs.share, 3 * gib);
  ASSERT_EQ(needs.needs.size(), resolved.batch_candidates.size());
  for (std::size_t i = 0; i < needs.needs.size(); ++i) {
    const Plan plan = make_plan(config::with_batch(resolved, resolved.batch_candidates[i]), small_data());
    EXPECT_EQ(needs.needs[i], on_gpu(plan.memory.front(), config::Offload::none).total()) << i;
    EXPECT_GE(needs.needs[i] - gpu_program_bytes, plan.memory.front().at_once) << i;
  }
}

TEST(BatchFit, NeedsTravelAsText) {
  const RankNeeds needs = parse_rank_needs(to_text({5, {-1, 7}}));
  EXPECT_EQ(needs.share, 5);
  EXPECT_THAT(needs.needs, testing::ElementsAre(-1, 7));
  EXPECT_THROW(parse_rank_needs("x"), base::BugError);
}

}  // namespace
}  // namespace troika::plan
