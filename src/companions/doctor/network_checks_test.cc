#include <gmock/gmock.h>

#include "doctor/made_host_test_support.h"

namespace troika::doctor {
namespace {
using testing::AllOf;
using testing::HasSubstr;

TEST(NetworkChecks, NameWhoHoldsThePort) {
  MadeHost host;
  host.view.want.port = 29500;
  host.view.port = PortState::taken;
  host.view.port_holder = base::verbatim("'python3' (pid 4711)");
  const auto ill = host.ill("ports");
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].status, Status::fail);
  EXPECT_EQ(ill[0].measured.english, "29500 is held by 'python3' (pid 4711)");
  host.view.port = PortState::forbidden;
  EXPECT_THAT(host.said("ports"), HasSubstr("above 1023"));
  host.view.port = PortState::free;
  EXPECT_EQ(host.said("ports"), "");
  host.view.port = PortState::of_this_launch;
  EXPECT_EQ(host.said("ports"), "");
}

TEST(NetworkChecks, WarnOfAPortThatTheSystemHandsOut) {
  MadeHost host;
  host.view.want.port = 29500;
  EXPECT_EQ(host.status("port_range"), Status::ok);
  host.view.want.port = 40000;
  EXPECT_THAT(host.said("port_range"), AllOf(HasSubstr("warn"), HasSubstr("32768 to 60999")));
}

TEST(NetworkChecks, WarnOfASmallMtu) {
  MadeHost host;
  host.interface("eth0").mtu = 576;
  EXPECT_THAT(host.said("mtu"), AllOf(HasSubstr("warn"), HasSubstr("eth0")));
}

TEST(NetworkChecks, FailWhereTheStatedInterfaceIsNotThereOrDown) {
  MadeHost host;
  host.view.want.interface = "eth7";
  EXPECT_EQ(host.status("nic_choice"), Status::fail);
  host.view.want.interface = "eth0";
  EXPECT_EQ(host.status("nic_choice"), Status::ok);
  host.interface("eth0").up = false;
  EXPECT_EQ(host.status("nic_choice"), Status::fail);
}

TEST(NetworkChecks, WarnOfWirelessOnlyWhereAWireIsThere) {
  MadeHost host;
  host.add_interface("wlan0", "192.168.2.11", 24, true);
  EXPECT_EQ(host.status("nic_choice"), Status::ok);
  host.proc("net/route", "Iface Destination\nwlan0 00000000\n");
  EXPECT_THAT(host.said("nic_choice"), AllOf(HasSubstr("warn"), HasSubstr("set comm.interface to eth0")));
  host.interface("eth0").up = false;
  EXPECT_EQ(host.status("nic_choice"), Status::note);
}

TEST(NetworkChecks, WarnOfTwoInterfacesInOneSubnet) {
  MadeHost host;
  host.add_interface("eth1", "192.168.2.11", 24);
  EXPECT_EQ(host.said("subnets"), "");
  host.add_interface("eth2", "192.168.1.200", 24);
  EXPECT_THAT(host.said("subnets"), AllOf(HasSubstr("warn"), HasSubstr("eth0 and eth2")));
  host.interface("eth2").name = "docker0";  // containers' own
  EXPECT_EQ(host.said("subnets"), "");
}

TEST(NetworkChecks, WarnOfHalfDuplexErrorsAndALinkThatComesAndGoes) {
  MadeHost host;
  host.interface("eth0").duplex = "half";
  EXPECT_THAT(host.said("speed"), HasSubstr("negotiate"));
  host.interface("eth0").duplex = "full";
  host.measured().after.link_errors["eth0"] += 50;
  EXPECT_THAT(host.said("speed"), AllOf(HasSubstr("warn"), HasSubstr("cable of eth0")));
  host.measured().after.link_errors["eth0"] = 4;  // one, since the host began few
  EXPECT_EQ(host.said("speed"), "");
  host.measured().carrier_changes["eth0"] = 2;
  EXPECT_THAT(host.said("speed"), HasSubstr("cable of eth0"));
}

TEST(NetworkChecks, SayThatVirtualInterfacesTellNoSpeed) {
  MadeHost host;
  host.interface("eth0").megabits = -1;
  EXPECT_EQ(host.status("speed"), Status::not_checked);
}

TEST(NetworkChecks, KnowTheStatesOfInfinibandPorts) {
  MadeHost host;
  const std::string port = "class/infiniband/mlx5_0/ports/1/";
  host.sys(port + "state", "4: ACTIVE\n");
  host.sys(port + "phys_state", "5: LinkUp\n");
  host.sys(port + "sm_lid", "0x1\n");
  EXPECT_EQ(host.status("infiniband"), Status::ok);
  host.sys(port + "state", "2: INIT\n");
  host.sys(port + "sm_lid", "0x0\n");
  EXPECT_THAT(host.said("infiniband"), AllOf(HasSubstr("warn"), HasSubstr("opensm"), HasSubstr("0x0")));
  host.sys(port + "state", "1: DOWN\n");
  host.sys(port + "phys_state", "2: Polling\n");
  EXPECT_THAT(host.said("infiniband"), HasSubstr("cable"));
  host.sys(port + "phys_state", "3: Disabled\n");
  EXPECT_EQ(host.said("infiniband"), "");
}

}  // namespace

namespace {
using testing::AllOf;
using testing::HasSubstr;

TEST(NameChecks, OnlyNoteAClockThatNobodyKeeps) {
  MadeHost host;
  EXPECT_EQ(host.status("clock"), Status::ok);
  host.view.clock->synchronised = false;
  EXPECT_THAT(host.said("clock"), AllOf(HasSubstr("note"), HasSubstr("chrony")));
  host.view.clock.reset();
  EXPECT_EQ(host.status("clock"), Status::not_checked);
}

TEST(NameChecks, WarnOfANameThatMeansLoopbackWhereThereAreSeveralHosts) {
  MadeHost host;
  host.etc("hosts", "127.0.0.1 localhost\n127.0.1.1 pi1.lan pi1\n");
  EXPECT_EQ(host.status("names"), Status::ok);
  host.view.want.hosts = Want::Hosts::several;
  EXPECT_THAT(host.said("names"), AllOf(HasSubstr("warn"), HasSubstr("127.0.1.1"), HasSubstr("--master-addr")));
}

TEST(NameChecks, AskNameServersForANameThatTheFileHasNot) {
  MadeHost host;
  host.view.want.hosts = Want::Hosts::several;
  host.etc("hosts", "127.0.0.1 localhost\n#192.168.1.11 pi1\n");
  EXPECT_EQ(host.status("names"), Status::ok);
  host.view.resolve = [](const std::string&) { return std::vector<std::string>{}; };
  EXPECT_EQ(host.status("names"), Status::note);
  host.view.resolve = [](const std::string&) { return std::vector<std::string>{"fe80::1"}; };
  EXPECT_EQ(host.status("names"), Status::warn);
  host.view.resolve = [](const std::string&) -> std::optional<std::vector<std::string>> { return std::nullopt; };
  EXPECT_EQ(host.status("names"), Status::not_checked);
}

TEST(NameChecks, FailWhereAVariableNamesNoInterface) {
  MadeHost host;
  host.view.environment = {{"NCCL_SOCKET_IFNAME", "eth"}, {"GLOO_SOCKET_IFNAME", "eth0"}};
  EXPECT_EQ(host.said("environment"), "");
  host.view.environment = {{"NCCL_SOCKET_IFNAME", "=eth"}};
  EXPECT_THAT(host.said("environment"), AllOf(HasSubstr("fail"), HasSubstr("NCCL_SOCKET_IFNAME")));
  host.view.environment = {{"NCCL_SOCKET_IFNAME", "^docker,lo"}};
  EXPECT_EQ(host.said("environment"), "");
  host.view.environment = {{"GLOO_SOCKET_IFNAME", "ib0"}};
  EXPECT_EQ(host.status("environment"), Status::fail);
}

}  // namespace

}  // namespace troika::doctor
