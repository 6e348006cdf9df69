#include "host/network.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace troika::host {
namespace {

TEST(InterfaceAddresses, TheLoopbackHasItsOwn) {
  int found = 0;
  for (const InterfaceAddress& one : interface_addresses()) {
    if (one.interface != "lo" || one.family != AF_INET || one.text != "127.0.0.1") continue;
    ++found;
    EXPECT_EQ(one.prefix, 8);
    EXPECT_EQ(one.scope, "");
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace troika::host
