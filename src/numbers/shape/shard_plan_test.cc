#include "shape/shard_plan.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace troika::shape {
namespace {

TEST(ShardPlan, RangesOfAllReplicasCoverTheBufferOnceAndAreNearlyEven) {
  for (const auto& parts : std::vector<std::vector<std::int64_t>>{{1}, {100, 100000, 64}, {4096, 4097, 12}, {50000}}) {
    for (int replicas = 1; replicas <= 9; ++replicas) {
      const ShardPlan plan(parts, replicas);
      std::int64_t next = 0, next_chunk = 0;
      for (int r = 0; r < replicas; ++r) {
        EXPECT_EQ(plan.elements_of(r).begin, next);
        EXPECT_EQ(plan.chunks_of(r).begin, next_chunk);
        next = plan.elements_of(r).end();
        next_chunk = plan.chunks_of(r).end();
        EXPECT_LE(std::abs(plan.elements_of(r).count - plan.elements() / replicas), norm_chunk + 1);
      }
      EXPECT_EQ(next, plan.elements());
      EXPECT_EQ(next_chunk, plan.chunks());
    }
  }
}

TEST(ShardPlan, BoundariesWithinAPartLieOnWholeChunksOfThatPart) {
  const ShardPlan plan({100, 30000}, 4);
  for (int r = 1; r < 4; ++r) {
    const std::int64_t boundary = plan.elements_of(r).begin;
    EXPECT_TRUE(boundary == 0 || (boundary - 100) % norm_chunk == 0) << boundary;
  }
  EXPECT_EQ(plan.chunks_of_part(1).begin, 1);
  EXPECT_EQ(plan.chunks_of_part(1).count, 8);
}

TEST(ShardPlan, PartsFollowOneAnother) {
  const ShardPlan plan({100, 0, 5000}, 3);
  EXPECT_EQ(plan.parts(), 3U);
  EXPECT_EQ(plan.part(1).begin, 100);
  EXPECT_EQ(plan.part(1).count, 0);
  EXPECT_EQ(plan.part(2).end(), plan.elements());
}

TEST(ShardPlan, ABufferOfManyGigabytesIsPlannedFromItsPartsAlone) {
  const std::int64_t large = std::int64_t{1} << 40;
  const ShardPlan plan({large, 0, 5, large + 1}, 7);
  EXPECT_EQ(plan.elements(), 2 * large + 6);
  EXPECT_EQ(plan.chunks(), 2 * large / norm_chunk + 2);
  for (int r = 0; r + 1 < 7; ++r) EXPECT_EQ(plan.elements_of(r).end(), plan.elements_of(r + 1).begin);
  EXPECT_EQ(plan.elements_of(6).end(), plan.elements());
  EXPECT_EQ(plan.part(2).count, 5);
  EXPECT_EQ(ShardPlan({}, 2).elements_of(1).count, 0);
}

}  // namespace

namespace {

TEST(OptimizerShape, OfAdamWHasTheMomentsThatCheckpointsName) {
  const OptimizerShape adamw = shape_of(config::Optimizer::adamw);
  ASSERT_EQ(adamw.buffers.size(), 2u);
  EXPECT_EQ(adamw.buffers[0].name, "adam_m");
  EXPECT_EQ(adamw.buffers[1].name, "adam_v");
  EXPECT_EQ(adamw.division, Division::by_range);
}

TEST(OptimizerShape, CountsTheBytesOfAParameter) {
  const OptimizerShape adamw = shape_of(config::Optimizer::adamw), momentum{{{"m", "the momentum"}}};
  EXPECT_EQ(adamw.bytes(4), 8);
  EXPECT_EQ(adamw.bytes(2), 12);  // the master copy too
  EXPECT_EQ(adamw.saved_bytes(), 12);
  EXPECT_EQ(adamw.update_bytes(4), 28);
  EXPECT_EQ(adamw.update_bytes(2), 30);
  EXPECT_EQ(momentum.bytes(4), 4);
  EXPECT_EQ(momentum.saved_bytes(), 8);
  EXPECT_EQ(momentum.update_bytes(2), 22);
}

}  // namespace

}  // namespace troika::shape
