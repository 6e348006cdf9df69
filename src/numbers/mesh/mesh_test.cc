#include "mesh/mesh.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace troika::mesh {
namespace {

TEST(Mesh, EveryRankHasOneCoordinateAndBack) {
  const Shape shape{3, 2, 2, 1};
  std::set<int> seen;
  for (int rank = 0; rank < shape.world(); ++rank) {
    const int again = world_rank_of(shape, coordinate_of(shape, rank));
    EXPECT_EQ(again, rank);
    seen.insert(again);
  }
  EXPECT_EQ(static_cast<int>(seen.size()), 12);
}

TEST(Mesh, TensorParallelNeighboursAreAdjacentAndPipelineIsSlowest) {
  const Shape shape{2, 2, 2, 1};
  EXPECT_EQ(group_of(shape, Axis::tp, 0), (std::vector<int>{0, 1}));
  EXPECT_EQ(group_of(shape, Axis::dp, 0), (std::vector<int>{0, 2}));
  EXPECT_EQ(group_of(shape, Axis::pp, 0), (std::vector<int>{0, 4}));
  EXPECT_EQ(group_of(shape, Axis::pp, 7), (std::vector<int>{3, 7}));
}

TEST(Mesh, ReplicasFollowEachOtherOnAHostUnlessTensorParallelRanksAreBetween) {
  EXPECT_EQ(replicas_on_each_host({16, 1, 1, 1}, 8), 8);
  EXPECT_EQ(replicas_on_each_host({8, 1, 2, 2}, 8), 4);
  EXPECT_EQ(replicas_on_each_host({2, 1, 8, 1}, 8), 1);
  EXPECT_EQ(replicas_on_each_host({2, 4, 1, 1}, 8), 2) << "a stage on each quarter of the host";
  EXPECT_EQ(replicas_on_each_host({4, 1, 2, 1}, 0), 4);
}

TEST(Mesh, MembersOfAGroupShareItsNameAndOthersDoNot) {
  const Shape shape{2, 3, 1, 2};
  for (const Axis axis : {Axis::dp, Axis::pp, Axis::tp, Axis::cp}) {
    for (int a = 0; a < shape.world(); ++a) {
      const auto members = group_of(shape, axis, a);
      for (int b = 0; b < shape.world(); ++b) {
        const bool together = std::find(members.begin(), members.end(), b) != members.end();
        EXPECT_EQ(group_name(shape, axis, a) == group_name(shape, axis, b), together);
      }
    }
  }
}

TEST(Mesh, LanesFollowThePipelineThenData) {
  const Shape shape{2, 3, 1, 1};
  for (int rank = 0; rank < shape.world(); ++rank) {
    const Coordinate c = coordinate_of(shape, rank);
    EXPECT_EQ(grid_rank_of(shape, rank), c.pp * shape.dp + c.dp);
  }
}

TEST(Mesh, ARankOutsideTheWorldIsRefused) { EXPECT_THROW(coordinate_of({2, 1, 1, 1}, 2), base::BugError); }

TEST(Mesh, ReplicasAreTheRanksOfEqualStageAndTensorShareByIndex) {
  const Shape shape{2, 2, 2, 3};
  for (int rank = 0; rank < shape.world(); ++rank) {
    const Coordinate here = coordinate_of(shape, rank);
    const auto replicas = replicas_of(shape, rank);
    ASSERT_EQ(replicas.size(), 6u);
    EXPECT_EQ(replicas[static_cast<std::size_t>(replica_index(shape, here))], rank);
    for (const int other : replicas) {
      EXPECT_EQ(coordinate_of(shape, other).pp, here.pp);
      EXPECT_EQ(coordinate_of(shape, other).tp, here.tp);
      EXPECT_EQ(replicas_name(shape, other), replicas_name(shape, rank));
    }
  }
}

}  // namespace
}  // namespace troika::mesh
