#include "base/system_cause.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/system_causes.h"

namespace troika::base {
namespace {

TEST(SystemCause, IsInEnglishWhatTheSystemSays) {
  for (const SystemCause& cause : system_causes) {
    EXPECT_EQ(fault_of(cause.text), "");
    EXPECT_STREQ(system_cause(cause.code).english.c_str(), std::strerror(cause.code));
  }
}

TEST(SystemCause, OfAnUnknownNumberIsWhatTheSystemSaysInBoth) {
  EXPECT_EQ(system_cause(4711).english, std::strerror(4711));
  EXPECT_EQ(system_cause(4711).chinese, std::strerror(4711));
}

}  // namespace
}  // namespace troika::base
