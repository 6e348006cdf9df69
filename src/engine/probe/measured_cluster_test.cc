#include "probe/measure_host.h"

#include <gmock/gmock.h>

#include "machine/cluster.h"

namespace troika::probe {
namespace {
using testing::ElementsAre;

machine::Host pi(const std::string& name, double factor = 1) {
  machine::Host host;
  host.name = name;
  host.device = "Raspberry Pi 4";
  host.cores = 4;
  host.memory_bytes = std::int64_t{3} << 30;
  host.program_bytes = std::int64_t{200} << 20;
  host.disk_bytes_per_second = 20e6;
  host.rates.fp32 = host.rates.bf16 = host.rates.fp16 = {9e9, 2e9};
  host.rates.between_bytes_per_second = host.rates.stream_bytes_per_second = 1e9;
  host.rates.call_seconds = 1e-5;
  host.rates = host.rates.times(factor);
  host.alone = host.rates.times(3.5);
  host.inside = {1e-5, 1e9};
  return host;
}

machine::Link ethernet(double factor = 1) { return {2e-4, factor * 117e6}; }

std::vector<std::string> shown(const machine::Cluster& cluster) {
  std::vector<std::string> hosts;
  for (const machine::Host& host : cluster.hosts) hosts.push_back(host.name + " x " + std::to_string(host.count));
  return hosts;
}

TEST(Assemble, MakesOneEntryOfHostsThatAreAlike) {
  std::vector<machine::Host> hosts{pi("pi1"), pi("pi2", 1.1), pi("pi3", 0.95)};
  hosts[2].memory_bytes -= 1 << 28;
  hosts[1].disk_bytes_per_second = 10e6;
  hosts[1].rates.call_seconds = 1.2e-5;  // a number that is found badly, but no second of a kernel hangs on it
  const machine::Cluster cluster = assemble(hosts, {{0, 1, ethernet()}, {0, 2, ethernet()}, {1, 2, ethernet()}});
  EXPECT_THAT(shown(cluster), ElementsAre("pi x 3"));
  EXPECT_EQ(cluster.hosts[0].memory_bytes, hosts[2].memory_bytes);
  EXPECT_EQ(cluster.hosts[0].disk_bytes_per_second, 10e6);
  EXPECT_TRUE(cluster.pairs.empty());
  EXPECT_EQ(cluster.network.bytes_per_second, ethernet().bytes_per_second);
}

TEST(Assemble, KeepsHostsApartThatDifferByMoreThanAFifthAndTheOrderOfRanks) {
  const std::vector<machine::Host> hosts{pi("pi1"), pi("pi2", 1.5), pi("pi3")};
  const machine::Cluster cluster = assemble(hosts, {{0, 1, ethernet()}, {0, 2, ethernet()}, {1, 2, ethernet()}});
  EXPECT_THAT(shown(cluster), ElementsAre("pi1 x 1", "pi2 x 1", "pi3 x 1"));
  machine::Host small = pi("pi4");
  small.memory_bytes /= 2;
  EXPECT_FALSE(alike(pi("pi1"), small));
}

TEST(Assemble, NamesEveryHostDifferently) {
  const auto none = std::vector<MeasuredPair>{};
  EXPECT_THAT(shown(assemble({pi("vm"), pi("vm", 2), pi("vm")}, none)), ElementsAre("vm x 1", "vm-2 x 1", "vm-3 x 1"));
  EXPECT_THAT(shown(assemble({pi("vm"), pi("vm"), pi("vm", 2), pi("vm", 2)}, none)),
              ElementsAre("vm x 2", "vm-2- x 2"));
  EXPECT_THAT(shown(assemble({pi("1"), pi("2")}, none)), ElementsAre("host x 2"));
}

TEST(Assemble, TakesTheSlowestPairForTheNetworkAndListsThoseThatAreFaster) {
  const machine::Cluster cluster = assemble({pi("pi1"), pi("pi2"), pi("other", 2)},
                                            {{0, 1, ethernet(4)}, {0, 2, ethernet()}, {1, 2, ethernet(1.1)}});
  EXPECT_EQ(cluster.network.bytes_per_second, ethernet().bytes_per_second);
  ASSERT_EQ(cluster.pairs.size(), 1u);
  EXPECT_EQ(cluster.pairs[0].from, "pi1");
  EXPECT_EQ(cluster.pairs[0].to, "pi2");
  const machine::Placement placement(cluster, 3);  // the planner finds the pair by these names
  EXPECT_EQ(placement.between(1, 0).bytes_per_second, ethernet(4).bytes_per_second);
  EXPECT_EQ(placement.between(1, 2).bytes_per_second, ethernet().bytes_per_second);
}

TEST(Assemble, MakesAFileThatIsReadBack) {
  const machine::Cluster cluster =
      assemble({pi("pi1"), pi("pi2"), pi("other", 2)}, {{0, 1, ethernet(4)}, {0, 2, ethernet()}, {1, 2, ethernet()}});
  const machine::Cluster read = machine::parse_cluster(machine::to_yaml(cluster), "a test's");
  EXPECT_EQ(machine::to_yaml(read), machine::to_yaml(cluster));
  EXPECT_EQ(read.host_count(), 3);
}

}  // namespace
}  // namespace troika::probe
