// The verb `probe`, as a user starts it.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"
#include "host/cores.h"
#include "machine/cluster.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;
using testing::Not;

void expect_measured(const machine::Host& host, int hosts) {
  EXPECT_EQ(host.count, hosts);
  EXPECT_EQ(host.devices, 0);
  EXPECT_EQ(host.cores, host::usable_cores());
  EXPECT_GT(host.memory_bytes, 1 << 20);
  EXPECT_GT(host.program_bytes, 1 << 20);
  EXPECT_GT(host.disk_bytes_per_second, 0);
  EXPECT_GT(host.inside.bytes_per_second, 0);
  EXPECT_GT(host.inside.latency_seconds, 0);
  for (const machine::Rates& rates : {host.rates, host.alone}) {
    EXPECT_GT(rates.fp32.flops_per_second, 0);
    EXPECT_GT(rates.fp32.bytes_per_second, 0);
    EXPECT_GT(rates.fp32.attention_share, 0);
    EXPECT_GT(rates.between_bytes_per_second, 0);
    EXPECT_GT(rates.stream_bytes_per_second, 0);
  }
}

TEST(Probe, WritesAFileThatThePlannerReadsAndATableForPeopleAndKeepsItWherePlansOfTheHostFindIt) {
  const Folder folder, configuration;
  const std::string kept = configuration / "troika/machine.yaml";
  const Variables home{{"XDG_CONFIG_HOME", configuration.path()}};
  const Words words = troika({"probe", "--seconds", "0.1", "--out", folder / "m.yaml", "--csv", folder / "m.csv"});
  const End end = Program(words, home).wait();
  ASSERT_EQ(end.code, 0) << end.output;
  const machine::Cluster cluster = machine::read_cluster(folder / "m.yaml");
  ASSERT_EQ(cluster.hosts.size(), 1u);
  expect_measured(cluster.hosts[0], 1);
  for (const char* row : {"products in fp32", "gradients and optimizer", "between two processes", "written to"})
    EXPECT_THAT(end.output, HasSubstr(row));
  EXPECT_THAT(base::read_file(folder / "m.csv"), HasSubstr("\"linear dW M 2048 I 512 O 512\",fp32,"));
  EXPECT_EQ(base::list_directory(folder.path()).size(), 2u);
  EXPECT_THAT(end.output, HasSubstr("plans with " + kept));
  EXPECT_EQ(base::read_file(kept), base::read_file(folder / "m.yaml"));
  const End plan = Program(troika({"plan", "--model.preset", "bench-4m", "--seq-len", "64"}), home).wait();
  EXPECT_THAT(plan.output, HasSubstr("measured by troika probe"));
}

// Each with two ranks.
TEST(FullProbe, OfTwoHostsMeasuresEachOnceHasTheNetworkBetweenThemAndPrintsTheFileWithoutOut) {
  const std::string port = std::to_string(free_port());
  const auto host = [&](const std::string& node) {
    return troika({"launch", "--nnodes", "2", "--node-rank", node, "--master-addr", "127.0.0.1", "--master-port", port,
                   "--nproc-per-node", "2", "--", "probe", "--seconds", "0.1"});
  };
  Program first(host("0")), second(host("1"));
  const End of_first = first.wait(), of_second = second.wait();
  ASSERT_EQ(of_first.code, 0) << of_first.output;
  EXPECT_EQ(of_second.code, 0) << of_second.output;
  EXPECT_THAT(of_second.output, Not(HasSubstr("hosts:\n")));
  const std::size_t begin = of_first.output.find("hosts:\n");  // behind the note that the host is busy
  ASSERT_NE(begin, std::string::npos) << of_first.output;
  const machine::Cluster cluster = machine::parse_cluster(of_first.output.substr(begin), "what it printed");
  EXPECT_EQ(cluster.host_count(), 2);
  for (const machine::Host& one : cluster.hosts) expect_measured(one, cluster.hosts.size() == 1 ? 2 : 1);
  EXPECT_GT(cluster.network.bytes_per_second, 0);
  EXPECT_GT(cluster.network.latency_seconds, 0);
}

TEST(Probe, RefusesAFolderThatIsNotThereBeforeItMeasures) {
  const End end = run(troika({"probe", "--out", "/nowhere/m.yaml"}));
  EXPECT_EQ(end.code, 2) << end.output;
  EXPECT_THAT(end.output, HasSubstr("there is no folder '/nowhere' for '/nowhere/m.yaml'"));
  const End unknown = run(troika({"probe", "--secnds", "1"}));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("unknown flag --secnds; did you mean --seconds?"));
}

// Its own processes and those that measure: of rank 0 one for each core and one for all of them.
TEST(FullProbe, EndsWithItsProcessesWhenARankIsKilledAndNamesIt) {
  Program program(launch(2, {"probe", "--seconds", "60"}));
  const std::size_t measuring = 3 + static_cast<std::size_t>(host::usable_cores());
  const double until = base::monotonic_seconds() + patience_seconds;
  while (program.processes().size() < measuring && base::monotonic_seconds() < until) ::usleep(10000);
  const std::vector<pid_t> processes = program.processes();
  ASSERT_GE(processes.size(), measuring) << program.output();
  ::kill(program.rank(1), SIGKILL);
  const End end = program.wait();
  EXPECT_NE(end.code, 0);
  EXPECT_THAT(end.output, HasSubstr("rank 1"));
  expect_ended(processes);
}

}  // namespace
}  // namespace troika::commands
