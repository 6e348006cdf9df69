#include <gmock/gmock.h>

#include "doctor/made_host_test_support.h"

namespace troika::doctor {
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
