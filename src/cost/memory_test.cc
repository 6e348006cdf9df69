#include "cost/memory.h"

#include <gtest/gtest.h>

namespace troika::cost {
namespace {

TEST(Memory, CountsSixteenBytesPerParameterForOneMicrobatch) {
  StageNumbers stage;
  stage.parameter_elements = stage.gradient_elements = 1000;
  const Memory memory = memory_of(stage);
  EXPECT_EQ(memory.parameters + memory.gradients + memory.state, 16000);
}

TEST(Memory, GradientBuffersGrowWithTheLogarithmOfTheShare) {
  StageNumbers stage;
  stage.gradient_elements = 100;
  for (const auto& [leaves, buffers] : {std::pair<int, int>{1, 1}, {2, 2}, {3, 3}, {4, 3}, {8, 4}, {9, 5}}) {
    stage.microbatches = leaves;
    EXPECT_EQ(memory_of(stage).gradients, 400 * buffers) << leaves;
  }
}

TEST(Memory, NamesEveryPart) {
  const std::string text = describe(memory_of({}));
  for (const char* part : {"parameters", "gradients", "optimizer", "activations", "program"})
    EXPECT_NE(text.find(part), std::string::npos);
}

}  // namespace
}  // namespace troika::cost
