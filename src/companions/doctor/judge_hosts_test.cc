#include "doctor/judge.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace troika::doctor {
namespace {
using testing::AllOf;
using testing::HasSubstr;

std::vector<HostReport> three_hosts() {
  std::vector<HostReport> reports;
  for (const char* name : {"pi1", "pi2", "pi3"}) {
    HostReport report;
    report.host = name;
    Interface eth0;
    eth0.name = "eth0";
    eth0.up = true;
    eth0.mtu = 1500;
    eth0.megabits = 1000;
    eth0.addresses = {{std::string("192.168.1.1") + name[2], 24}};
    report.facts.interfaces = {eth0};
    report.facts.versions = {{"build", "aa"}, {"kernel", "6.1"}};
    report.facts.memory_bytes_per_second = 10e9;
    reports.push_back(report);
  }
  return reports;
}

std::vector<Finding> ill(const std::vector<Finding>& findings) {
  std::vector<Finding> some;
  for (const Finding& one : findings)
    if (one.status != Status::ok) some.push_back(one);
  return some;
}

TEST(JudgeHosts, FindsNothingInEqualHosts) {
  EXPECT_EQ(ill(judge_hosts(three_hosts())).size(), 0u);
  EXPECT_EQ(judge_hosts({three_hosts()[0]}).size(), 0u);
}

TEST(JudgeHosts, NamesTheHostWithAnotherEnvironment) {
  std::vector<HostReport> reports = three_hosts();
  reports[2].facts.environment["OMP_NUM_THREADS"] = "1";
  const auto found = ill(judge_hosts(reports));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].host, "pi3");
  EXPECT_EQ(found[0].check, "environment");
  EXPECT_EQ(found[0].status, Status::warn);
  EXPECT_EQ(found[0].measured.english, "OMP_NUM_THREADS=1");
  EXPECT_EQ(found[0].wanted.english, "OMP_NUM_THREADS is not set, as on pi1");
}

TEST(JudgeHosts, OnlyNotesOtherNamesOfInterfaces) {
  std::vector<HostReport> reports = three_hosts();
  for (HostReport& report : reports) report.facts.environment["NCCL_SOCKET_IFNAME"] = "eth0";
  reports[1].facts.environment["NCCL_SOCKET_IFNAME"] = "enp1s0";
  ASSERT_EQ(ill(judge_hosts(reports)).size(), 1u);
  EXPECT_EQ(ill(judge_hosts(reports))[0].status, Status::note);
  reports[1].facts.environment.clear();
  EXPECT_EQ(ill(judge_hosts(reports))[0].status, Status::warn);
}

TEST(JudgeHosts, FailsTheMinorityWithAnotherBuildAndNotesAnotherKernel) {
  std::vector<HostReport> reports = three_hosts();
  reports[0].facts.versions["build"] = "bb";
  reports[1].facts.versions["kernel"] = "5.10";
  const auto found = ill(judge_hosts(reports));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].host, "pi1");
  EXPECT_EQ(found[0].status, Status::fail);
  EXPECT_THAT(found[0].advice.english, HasSubstr("same Troika"));
  EXPECT_EQ(found[1].host, "pi2");
  EXPECT_EQ(found[1].status, Status::note);
}

TEST(JudgeHosts, NamesTheHostWithSlowMemory) {
  std::vector<HostReport> reports = three_hosts();
  reports[1].facts.memory_bytes_per_second = 7.1e9;
  EXPECT_EQ(ill(judge_hosts(reports)).size(), 0u);
  reports[1].facts.memory_bytes_per_second = 6e9;
  const auto found = ill(judge_hosts(reports));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].host, "pi2");
  EXPECT_EQ(found[0].measured.english, "6.0 GB/s");
  EXPECT_THAT(found[0].wanted.english, HasSubstr("10.0 GB/s"));
}

TEST(JudgeHosts, NamesTheHostWithASlowLinkAndTheOneWithAnotherMtu) {
  std::vector<HostReport> reports = three_hosts();
  reports[0].facts.interfaces[0].megabits = 100;
  reports[2].facts.interfaces[0].mtu = 9000;
  const auto found = ill(judge_hosts(reports));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].check, "speed");
  EXPECT_EQ(found[0].host, "pi1");
  EXPECT_EQ(found[1].check, "mtu");
  EXPECT_EQ(found[1].host, "pi3");
  EXPECT_EQ(found[1].wanted.english, "1500, as on the other hosts in 192.168.1.0/24");
  reports[2].facts.interfaces[0].addresses = {{"10.0.0.3", 24}};  // a network of its own
  EXPECT_EQ(ill(judge_hosts(reports)).size(), 1u);
}

TEST(JudgeHosts, OnlyNotesAFolderThatSomeShare) {
  const SharedFolder none{"pi1", true, {{"pi2", -1}, {"pi3", -1}}};
  EXPECT_EQ(judge_shared_folder(none, "/runs")[0].status, Status::ok);
  const SharedFolder all{"pi1", true, {{"pi2", 0.01}, {"pi3", 0.02}}};
  EXPECT_EQ(judge_shared_folder(all, "/runs")[0].measured.english, "all hosts share /runs");
  const SharedFolder some{"pi1", true, {{"pi2", 0.01}, {"pi3", -1}}};
  EXPECT_EQ(judge_shared_folder(some, "/runs")[0].status, Status::note);
  const SharedFolder late{"pi1", true, {{"pi2", 3.2}, {"pi3", 3.1}}};
  EXPECT_THAT(judge_shared_folder(late, "/runs")[0].advice.english, HasSubstr("actimeo"));
  EXPECT_EQ(judge_shared_folder({"pi1", false, {}}, "/runs")[0].status, Status::not_checked);
}

TEST(JudgeHosts, ListsManyHostsByTheirNumber) {
  EXPECT_EQ(list_hosts({"a", "b"}, 2).english, "a, b");
  EXPECT_EQ(list_hosts({"a", "b", "c", "d", "e"}, 5).english, "all 5 hosts");
  EXPECT_EQ(list_hosts({"a", "b", "c", "d", "e"}, 6).chinese, "a, b, c, d, e");
}

}  // namespace
}  // namespace troika::doctor
