#include "shape/architecture.h"

#include <gtest/gtest.h>

#include "shape/layout_test_support.h"

namespace troika::shape {
namespace {

TEST(BlockKinds, OfTodaysFamiliesAreOneForAllBlocks) {
  config::ModelSettings model = narrow(true);
  model.layers = 5;
  const BlockKinds kinds(model);
  EXPECT_EQ(kinds.kinds, std::vector<BlockKind>{block_kind(model, 1)});
  EXPECT_EQ(kinds.first, std::vector<int>{1});
  EXPECT_EQ(kinds.of_block, std::vector<std::size_t>(5));
}

TEST(BlockKind, WithoutAttentionHasOnlyProjectionsOfTheFeedForward) {
  BlockKind kind;
  EXPECT_TRUE(kind.has(config::Projection::q) && kind.has(config::Projection::o) && kind.has(config::Projection::down));
  kind.attention = BlockKind::Attention::none;
  EXPECT_FALSE(kind.has(config::Projection::q) || kind.has(config::Projection::o));
  EXPECT_TRUE(kind.has(config::Projection::gate) && kind.has(config::Projection::down));
  EXPECT_FALSE(kind.rotates());
}

}  // namespace
}  // namespace troika::shape
