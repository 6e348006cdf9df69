#include "sharding/shard_plan.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/flat.h"

namespace troika::sharding {
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
        EXPECT_LE(std::abs(plan.elements_of(r).count - plan.elements() / replicas), kernels::norm_chunk + 1);
      }
      EXPECT_EQ(next, plan.elements());
      EXPECT_EQ(next_chunk, plan.chunks());
    }
  }
}

TEST(ShardPlan, BordersWithinAPartLieOnWholeChunksOfThatPart) {
  const ShardPlan plan({100, 30000}, 4);
  for (int r = 1; r < 4; ++r) {
    const std::int64_t border = plan.elements_of(r).begin;
    EXPECT_TRUE(border == 0 || (border - 100) % kernels::norm_chunk == 0) << border;
  }
  EXPECT_EQ(plan.chunks_of_part(1).begin, 1);
  EXPECT_EQ(plan.chunks_of_part(1).count, 8);
}

TEST(ShardPlan, TellsWhatAReplicaHoldsOfAPart) {
  const ShardPlan plan({100, 30000, 5000}, 3);
  for (std::size_t part = 0; part < 3; ++part) {
    std::int64_t sum = 0;
    for (int r = 0; r < 3; ++r) sum += plan.elements_of_part(part, r).count;
    EXPECT_EQ(sum, (std::vector<std::int64_t>{100, 30000, 5000}[part]));
  }
}

}  // namespace
}  // namespace troika::sharding
