#include "host/signals.h"

#include <gtest/gtest.h>
#include <string.h>

namespace troika::host {
namespace {

TEST(SignalName, IsThatOfTheCLibrary) {
  for (int signal = 1; signal < 32; ++signal) {
    const char* known = ::sigabbrev_np(signal);
    EXPECT_EQ(signal_name(signal), known == nullptr ? "?" : known) << signal;
  }
  EXPECT_EQ(signal_name(0), "?");
  EXPECT_EQ(signal_name(1000), "?");
}

}  // namespace
}  // namespace troika::host
