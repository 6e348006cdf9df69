#include "host/socket_at.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace troika::host {
namespace {

TEST(SocketAt, AFreePortIsToldAndTakenForOthers) {
  const base::Descriptor first = socket_at(SOCK_STREAM, "127.0.0.1", 0, 4);
  ASSERT_TRUE(first);
  const int port = port_of(first.number());
  EXPECT_GT(port, 0);
  EXPECT_FALSE(socket_at(SOCK_STREAM | SOCK_NONBLOCK, "127.0.0.1", port, 4));
  EXPECT_EQ(errno, EADDRINUSE);
  EXPECT_FALSE(socket_at_every_network(SOCK_STREAM, port, 4));
  EXPECT_TRUE(socket_at(SOCK_DGRAM, "127.0.0.1", port, 0)) << "datagrams have ports of their own";
}

TEST(SocketAt, WhatIsNoAddressOfThisHostIsRefused) {
  for (const char* address : {"192.0.2.1", "a name", ""}) {
    EXPECT_FALSE(socket_at(SOCK_STREAM, address, 0, 4)) << address;
    EXPECT_EQ(errno, EADDRNOTAVAIL) << address;
  }
}

}  // namespace
}  // namespace troika::host
