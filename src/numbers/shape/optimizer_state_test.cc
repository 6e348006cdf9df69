#include "shape/optimizer_state.h"

#include <gtest/gtest.h>

namespace troika::shape {
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
