#include "planner/machines.h"

#include <gmock/gmock.h>

#include "machine/profiles.h"

namespace troika::planner {
namespace {
using testing::HasSubstr;

ThisMachine pi(ThisMachine::Rates rates, const std::string& name = "pi", std::int64_t memory = 4000000000) {
  ThisMachine here;
  here.rates = rates;
  here.cluster.hosts.push_back(machine::find_profile("raspberry-pi-4").host);
  here.cluster.hosts.front().name = name;
  here.cluster.hosts.front().memory_bytes = memory;
  return here;
}
constexpr auto probed = ThisMachine::Rates::probed, of_a_profile = ThisMachine::Rates::of_a_profile;
const schedule::Link slow{0.001, 1.25e6};

TEST(RunMachines, AlikeHostsAreOneEntryWithTheLeastMemory) {
  const std::string a = tell_machine(pi(probed, "a"), 2, {}), b = tell_machine(pi(probed, "b", 3000000000), 2, {});
  const RunMachines run = machines_of_run({a, "", b, ""}, slow);
  ASSERT_EQ(run.why_none.english, "");
  ASSERT_EQ(run.cluster.hosts.size(), 1u);
  EXPECT_EQ(run.cluster.hosts[0].count, 2);
  EXPECT_NEAR(static_cast<double>(run.cluster.hosts[0].memory_bytes), 3e9, 1e6);
  EXPECT_EQ(run.ranks_per_host, 2);
  EXPECT_EQ(run.cluster.network.bytes_per_second, slow.bytes_per_second);
}

TEST(RunMachines, ProfilesAreScaledToTheProductThatWasTimed) {
  const machine::Host usual = pi(of_a_profile).cluster.hosts.front();
  const double flops = 1e9, bytes = 1e6;
  const double takes = usual.alone.product_seconds(config::Precision::fp32, flops, bytes);
  const RunMachines run = machines_of_run({tell_machine(pi(of_a_profile), 1, {flops, bytes, takes / 2})}, {});
  EXPECT_NEAR(run.cluster.hosts[0].alone.fp32.flops_per_second / usual.alone.fp32.flops_per_second, 2, 0.01);
  EXPECT_THAT(source_of(run.cluster.hosts[0]).english, HasSubstr("scaled to a matrix product here"));
}

TEST(RunMachines, OfOneHostTheMeasuredLinkIsThatBetweenItsRanksUnlessItWasProbed) {
  const auto inside = [](ThisMachine::Rates rates) {
    return machines_of_run({tell_machine(pi(rates), 2, {}), ""}, slow).cluster.hosts[0].inside.bytes_per_second;
  };
  EXPECT_EQ(inside(of_a_profile), slow.bytes_per_second);
  EXPECT_GT(inside(probed), 100 * slow.bytes_per_second);
}

TEST(RunMachines, SayWhyTheyAreNotKnown) {
  const std::string host = tell_machine(pi(probed), 2, {});
  EXPECT_EQ(machines_of_run({host, "", tell_no_machine({"no such file", "没有这个文件"})}, slow).why_none.english, "no such file");
  EXPECT_THAT(machines_of_run({host, "", host}, slow).why_none.english, HasSubstr("not have equal numbers of consecutive ranks"));
  EXPECT_THAT(machines_of_run({"", host}, slow).why_none.english, HasSubstr("first rank"));
  ThisMachine several = pi(probed);
  several.cluster.hosts.front().count = 3;
  EXPECT_THAT(machines_of_run({tell_machine(several, 1, {})}, {}).why_none.english, HasSubstr("3 hosts"));
}

}  // namespace
}  // namespace troika::planner
