#include "host/network.h"

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

TEST(SocketAt, APortIsFreeAgainAtOnceAlsoBehindAConnection) {
  base::Descriptor listener = socket_at(SOCK_STREAM, "127.0.0.1", 0, 4);
  const int port = port_of(listener.number());
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &length);
  base::Descriptor client(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(::connect(client.number(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  base::Descriptor accepted(::accept(listener.number(), nullptr, nullptr));
  accepted.close();  // first, so the system waits at this port
  client.close();
  listener.close();
  EXPECT_TRUE(socket_at(SOCK_STREAM, "127.0.0.1", port, 4));
}

TEST(SocketAt, WhatIsNoAddressOfThisHostIsRefused) {
  for (const char* address : {"192.0.2.1", "a name", ""}) {
    EXPECT_FALSE(socket_at(SOCK_STREAM, address, 0, 4)) << address;
    EXPECT_EQ(errno, EADDRNOTAVAIL) << address;
  }
}

}  // namespace
}  // namespace troika::host
