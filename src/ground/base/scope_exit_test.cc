#include "base/descriptor.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troika::base {
namespace {

TEST(ScopeExit, CallsItsFunctionOnceWhenTheScopeReturnsOrThrows) {
  int calls = 0;
  {
    const ScopeExit guard([&calls] { ++calls; });
    EXPECT_EQ(calls, 0);
  }
  EXPECT_EQ(calls, 1);
  try {
    const ScopeExit guard([&calls] { ++calls; });
    throw std::runtime_error("the scope ends early");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(calls, 2);
  }
}

}  // namespace
}  // namespace troika::base
