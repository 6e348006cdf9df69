#include "doctor/host_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "doctor/made_host_test_support.h"

namespace troika::doctor {
namespace {
using testing::HasSubstr;

TEST(HostReport, ComesBackFromItsJson) {
  MadeHost host;
  host.measured();
  host.view.environment = {{"OMP_NUM_THREADS", "1"}};
  const HostReport report{"pi1", facts_of(host.view, "/nowhere/troika"), look_at(host.view)};
  const HostReport again = parse<HostReport>(to_json(report));
  EXPECT_EQ(to_json(again).dump(), to_json(report).dump());
  EXPECT_EQ(again.facts.memory_bytes_per_second, 12e9);
  EXPECT_EQ(again.facts.interfaces.size(), 1u);
  EXPECT_EQ(again.findings.size(), report.findings.size());
}

TEST(HostReport, OfAnotherVersionIsADataError) {
  for (const char* text : {"{}", "[]", "{\"host\": 7}"})
    EXPECT_THROW(parse<HostReport>(nlohmann::json::parse(text)), base::DataError) << text;
  MadeHost host;
  nlohmann::json json = to_json(HostReport{"pi1", {}, look_at(host.view)});
  json["findings"][0]["status"] = "purple";
  EXPECT_THROW(parse<HostReport>(json), base::DataError);
}

TEST(HostReport, WatchesVariablesThatMatterAndHidesProxies) {
  const auto watched = watched_variables({{"NCCL_DEBUG", "INFO"},
                                          {"OMP_NUM_THREADS", "2"},
                                          {"http_proxy", "http://me:secret@proxy"},
                                          {"HOME", "/root"},
                                          {"NCCL_IB_HCA", ""}});
  EXPECT_EQ(watched, (std::map<std::string, std::string>{
                         {"NCCL_DEBUG", "INFO"}, {"OMP_NUM_THREADS", "2"}, {"http_proxy", "***"}}));
  EXPECT_EQ(watched_variables({{"OMP_NUM_THREADS", "2"}, {"TROIKA_STORE", "x:1"}}).size(), 0u);
}

TEST(HostReport, KnowsBuildKernelAndInstructions) {
  MadeHost host;
  host.proc("cpuinfo", "processor: 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx2 avx512f\n");
  host.proc("programs/troika", "one");
  const auto versions = facts_of(host.view, host.view.proc + "/programs/troika").versions;
  EXPECT_EQ(versions.at("build").size(), 8u);
  EXPECT_EQ(versions.at("processor"), "Some CPU");
  EXPECT_EQ(versions.at("instructions"), "avx2 avx512f");
  EXPECT_NE(versions.at("kernel"), "");
}

TEST(PairReport, ComesBackFromItsJson) {
  PairReport report;
  report.from = "pi1";
  report.to = "pi2";
  report.connecting = {"192.168.1.12", 4000, 111};
  report.named = Connecting{"192.168.1.12", 29500, 0};
  report.full_datagrams = false;
  report.stuck_bytes = 4096;
  report.addresses_of_name = {"127.0.1.1"};
  const PairReport again = parse<PairReport>(to_json(report));
  EXPECT_EQ(to_json(again).dump(), to_json(report).dump());
  EXPECT_FALSE(again.small_datagrams.has_value());
  EXPECT_EQ(again.named->port, 29500);
  EXPECT_THROW(parse<PairReport>(nlohmann::json::parse("{\"from\": \"a\"}")), base::DataError);
}

TEST(DoctorsWant, ComesBackFromItsJson) {
  Want want;
  want.hosts = Want::Hosts::several;
  want.folder = "/runs/a b";
  want.port = 29500;
  want.disk_bytes = std::int64_t{1} << 40;
  EXPECT_EQ(to_json(parse<Want>(to_json(want))), to_json(want));
  EXPECT_THROW(parse<Want>(nlohmann::json{{"hosts", 1}}), base::DataError);
}

}  // namespace
}  // namespace troika::doctor
