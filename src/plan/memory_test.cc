#include "plan/memory.h"

#include <gtest/gtest.h>

namespace troika::plan {
namespace {

TEST(Memory, TheTotalIsTheMostThatIsThereAtOnceAndTheProgram) {
  Memory most;
  most.program = 50000;
  most.note({100, 20, 3, 0});
  most.note({1, 2, 3, 400});
  EXPECT_EQ(most.parameters, 100);
  EXPECT_EQ(most.gradients, 20);
  EXPECT_EQ(most.state, 3);
  EXPECT_EQ(most.activations, 400);
  EXPECT_EQ(most.total(), 50000 + 1 + 2 + 3 + 400);
}

TEST(Memory, NamesEveryPart) {
  const std::string text = describe(Memory{});
  for (const char* part : {"parameters", "gradients", "optimizer", "activations", "program"})
    EXPECT_NE(text.find(part), std::string::npos);
}

}  // namespace
}  // namespace troika::plan
