#include "rendezvous/socket.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::rendezvous {
namespace {
using ::testing::HasSubstr;

std::string address_error(const std::string& text) {
  try {
    parse_endpoint("--master-addr", text);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Address, TakesNamesAndNumbersWithAndWithoutBracketsAndPort) {
  const auto is = [](const std::string& text, const std::string& address, std::optional<int> port) {
    const Endpoint end = parse_endpoint("--master-addr", text);
    EXPECT_EQ(end.address, address);
    EXPECT_EQ(end.port, port);
  };
  is("node-1.example", "node-1.example", {});
  is("job_master_0:29500", "job_master_0", 29500);
  is("10.0.0.1:1", "10.0.0.1", 1);
  is("::1", "::1", {});
  is("[::1]", "::1", {});
  is("[::1]:29500", "::1", 29500);
  is("2001:db8::1:29", "2001:db8::1:29", {});
  is("[fe80::1%lo]:65535", "fe80::1%lo", 65535);
  is("fe80::1%1", "fe80::1%1", {});
}

TEST(Address, WhatIsNoneIsRefusedByName) {
  EXPECT_THAT(address_error("[::1"), HasSubstr("--master-addr is '[::1', but its bracket is not closed"));
  EXPECT_THAT(address_error("[host]:29500"), HasSubstr("brackets enclose an IPv6 address"));
  EXPECT_THAT(address_error("[::1]29500"), HasSubstr("write [ADDRESS]:PORT"));
  EXPECT_THAT(address_error("::1:295000"), HasSubstr("'::1:295000' is not an IPv6 address; write it with a port as"));
  EXPECT_THAT(address_error("[::1]:0"), HasSubstr("but its port must be from 1 to 65535"));
  EXPECT_THAT(address_error("host:port"), HasSubstr("but its port must be from 1 to 65535"));
  EXPECT_THAT(address_error("host:"), HasSubstr("port must be"));
  EXPECT_THAT(address_error(":29500"), HasSubstr("must be a host name or address"));
  EXPECT_THAT(address_error("http://10.0.0.1"), HasSubstr("must be a host name or address"));
  EXPECT_THAT(address_error("10.0.0.1/24"), HasSubstr("must be a host name or address"));
  EXPECT_THAT(address_error("user@host"), HasSubstr("must be a host name or address"));
}

TEST(Address, ALinkLocalOneNeedsAnInterfaceThatIsThere) {
  EXPECT_THAT(address_error("fe80::1"), HasSubstr("needs an interface of this host, as in 'fe80::1%eth0'; this host has "));
  EXPECT_THAT(address_error("[fe80::1%eth99]:29500"), HasSubstr("this host has no interface 'eth99'; it has "));
  EXPECT_THAT(address_error("fe80::1%"), HasSubstr("is not an IPv6 address"));
}

TEST(Address, IsWrittenWithBracketsWhereAPortFollowsColons) {
  EXPECT_EQ(endpoint_text("10.0.0.1", 29500), "10.0.0.1:29500");
  EXPECT_EQ(endpoint_text("::1", 29500), "[::1]:29500");
  EXPECT_TRUE(is_numeric_address("fe80::1%eth0"));
  EXPECT_FALSE(is_numeric_address("fe80"));
}

}  // namespace
}  // namespace troika::rendezvous
