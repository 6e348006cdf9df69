#include "cost/memory.h"

#include <gtest/gtest.h>

namespace troika::cost {
namespace {

TEST(Memory, TheTotalIsTheSumOfItsParts) { EXPECT_EQ((Memory{1, 20, 300, 4000, 50000}.total()), 54321); }

TEST(Memory, NamesEveryPart) {
  const std::string text = describe(Memory{});
  for (const char* part : {"parameters", "gradients", "optimizer", "activations", "program"})
    EXPECT_NE(text.find(part), std::string::npos);
}

}  // namespace
}  // namespace troika::cost
