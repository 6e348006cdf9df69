#include "machine/cluster.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "machine/profiles.h"

namespace troika::machine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal_of(const std::string& text) {
  return base::message_of<base::ConfigError>([&] { parse_cluster(text, "pis.yaml"); });
}

TEST(ClusterFile, ADeviceWithAProfileNeedsNoMore) {
  const Cluster cluster = parse_cluster("hosts:\n  - device: raspberry-pi-4\n    count: 3\n", "pis.yaml");
  ASSERT_EQ(cluster.hosts.size(), 1u);
  EXPECT_EQ(cluster.host_count(), 3);
  EXPECT_EQ(cluster.device_count(), 3);
  EXPECT_EQ(cluster.hosts[0].cores, 4);
  EXPECT_DOUBLE_EQ(cluster.hosts[0].alone.fp32.flops_per_second, 22e9);
  EXPECT_DOUBLE_EQ(cluster.network.bytes_per_second, 939e6 / 8);
}

TEST(ClusterFile, WhatIsStatedReplacesTheProfile) {
  const Cluster cluster = parse_cluster(
      "name: desk\n"
      "hosts:\n"
      "  - {name: a, device: h100, devices: 2, memory: 60 GiB, speed: 0.5, inside: {latency: 2 us, bandwidth: 100 "
      "GB/s}}\n"
      "  - name: b\n"
      "    cores: 8\n"
      "    memory: 3.5 GiB\n"
      "    alone: {fp32: {products: 80 GFLOP/s, bytes: 20 GB/s}, attention: 0.5, between: 10 GB/s, call: 5 us}\n"
      "network:\n"
      "  latency: 0.3 ms\n"
      "  bandwidth: 939 Mbit/s\n"
      "  pairs:\n"
      "    - {from: a, to: b, latency: 1 ms, bandwidth: 10 Mbit/s}\n",
      "desk.yaml");
  const Host &a = cluster.hosts[0], &b = cluster.hosts[1];
  EXPECT_EQ(a.devices, 2);
  EXPECT_EQ(a.memory_bytes, std::int64_t{60} << 30);
  EXPECT_DOUBLE_EQ(a.rates.bf16.flops_per_second, find_profile("h100").host.rates.bf16.flops_per_second / 2);
  EXPECT_DOUBLE_EQ(a.inside.bytes_per_second, 100e9);
  EXPECT_TRUE(b.computes_on_cores());
  EXPECT_DOUBLE_EQ(b.rates.fp32.flops_per_second, 10e9);    // a core of eight
  EXPECT_DOUBLE_EQ(b.alone.bf16.flops_per_second, 80e9);    // computed in fp32
  EXPECT_DOUBLE_EQ(b.alone.stream_bytes_per_second, 10e9);  // as between
  const Placement placement(cluster, 3);
  EXPECT_DOUBLE_EQ(placement.between(0, 1).bytes_per_second, 1.25e6);
  EXPECT_EQ(placement.ranks_on(0), 2);
}

TEST(ClusterFile, IsWrittenAsItIsRead) {
  Cluster cluster;
  cluster.name = "three: pis";
  cluster.hosts = {find_profile("cloud-2-cores").host, find_profile("a100-80").host};
  cluster.hosts[0].name = "a \"host\"";
  cluster.hosts[0].disk_bytes_per_second = 2e8;
  cluster.network = {0.2e-3, 939e6 / 8};
  cluster.pairs = {{"a \"host\"", "a100-80", {1e-3, 1.25e6}}};
  const std::string text = to_yaml(cluster);
  const Cluster again = parse_cluster(text, "written");
  EXPECT_EQ(to_yaml(again), text);
  EXPECT_EQ(again.name, cluster.name);
  EXPECT_EQ(again.hosts[0].name, cluster.hosts[0].name);
  EXPECT_NEAR(again.hosts[1].rates.bf16.flops_per_second / cluster.hosts[1].rates.bf16.flops_per_second, 1, 1e-3);
  EXPECT_EQ(again.pairs.size(), 1u);
}

TEST(ClusterFile, AttentionIsOfAPrecisionOrOfAll) {
  const Cluster cluster = parse_cluster(
      "hosts:\n  - device: x\n    cores: 1\n    memory: 1 GiB\n    alone: {fp32: {products: 8 GFLOP/s, bytes: 2 GB/s, attention: 0.3, "
      "attention_bytes: 1 GB/s}, bf16: {products: 9 GFLOP/s, bytes: 2 GB/s}, attention: 0.5, between: 4 GB/s, stream: 1 GB/s, call: 5 us}\n",
      "x");
  const Rates& rates = cluster.hosts[0].alone;
  EXPECT_EQ(rates.fp32.attention_share, 0.3);
  EXPECT_EQ(rates.bf16.attention_share, 0.5);
  EXPECT_NEAR(rates.attention_seconds(config::Precision::fp32, 2.4e9, 1e9), 5e-6 + 1 + 1, 1e-9);
  EXPECT_NEAR(rates.attention_seconds(config::Precision::bf16, 4.5e9, 1e9), 5e-6 + 0.25 + 1, 1e-9);
}

TEST(ClusterFile, OneDocumentIsRead) {
  const std::string one = "hosts:\n  - device: raspberry-pi-4\n";
  EXPECT_EQ(parse_cluster("---\n" + one + "...\n", "pis.yaml").hosts.size(), 1u);
  EXPECT_THAT(refusal_of(one + "---\n" + one), HasSubstr("pis.yaml line 4: a second YAML document begins"));
}

TEST(ClusterFile, EveryMistakeIsNamedWithItsLine) {
  EXPECT_THAT(
      refusal_of("hosts:\n  - device: raspberry-pi-4\n    memorry: 3 GiB\n    cores: none\nnetwork: {bandwith: 3}\n"),
      AllOf(HasSubstr("pis.yaml line 3: unknown key 'memorry' in a host; did you mean memory?"),
            HasSubstr("pis.yaml line 4: cores is 'none'"),
            HasSubstr("pis.yaml line 5: unknown key 'bandwith' in network; did you mean bandwidth?")));
  EXPECT_THAT(refusal_of("hosts:\n  - device: rasberry-pi-4\n"), HasSubstr("did you mean raspberry-pi-4?"));
  EXPECT_THAT(refusal_of("hosts:\n  - {device: h100, memory: 80}\nnetwork: {bandwidth: 10}\n"),
              HasSubstr("bandwidth is '10', but must be a number with a unit, such as 939 Mbit/s"));
  EXPECT_THAT(refusal_of("hosts: []\n"), HasSubstr("lists no hosts"));
  EXPECT_THAT(refusal_of(""), HasSubstr("is not a cluster: it needs hosts:"));
  EXPECT_THAT(refusal_of("hosts: [\n"), HasSubstr("is not valid YAML"));
  EXPECT_THAT(
      refusal_of(
          "hosts:\n  - {name: a, count: 2, memory: 3 GiB, alone: {fp32: {products: 1 GFLOP/s, bytes: 1 GB/s}}}\n"),
      HasSubstr("several hosts but no network"));
  EXPECT_THAT(base::message_of<base::ConfigError>([] { read_cluster("/no/such.yaml"); }),
              HasSubstr("there is no cluster file '/no/such.yaml'"));
}

TEST(Placement, RanksFillHostsInTheirOrder) {
  Cluster cluster = parse_cluster("hosts:\n  - {device: h100, count: 2, devices: 4}\n", "x");
  const Placement placement(cluster, 8);
  EXPECT_EQ(placement.hosts(), 2);
  EXPECT_EQ(placement.host_of(3), 0);
  EXPECT_EQ(placement.host_of(4), 1);
  EXPECT_TRUE(placement.uniform());
  EXPECT_FALSE(Placement(cluster, 6).uniform());
  EXPECT_THAT(base::message_of<base::ConfigError>([&] { Placement(cluster, 9); }), HasSubstr("1 rank has no slot"));
}

TEST(Placement, RanksOfAHostShareItsCoresAndItsMemory) {
  Cluster cluster = parse_cluster("hosts:\n  - {device: raspberry-pi-4, memory: 4 GiB}\n", "x");
  const Placement two(cluster, 2, 2), eight(cluster, 8, 8);
  EXPECT_EQ(two.threads_of(0), 2);
  EXPECT_DOUBLE_EQ(two.rates_of(0).fp32.flops_per_second, 11e9);
  EXPECT_EQ(two.memory_of(1), std::int64_t{2} << 30);
  EXPECT_EQ(eight.threads_of(0), 1);
  EXPECT_EQ(eight.at_once(0), 4);
  EXPECT_DOUBLE_EQ(Placement(cluster, 1).rates_of(0).fp32.flops_per_second, 22e9);
}

}  // namespace
}  // namespace troika::machine
