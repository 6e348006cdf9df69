#include <gmock/gmock.h>

#include "doctor/made_host_test_support.h"

namespace troika::doctor {
namespace {
using testing::AllOf;
using testing::HasSubstr;

TEST(MemoryChecks, CompareWhatIsFreeWithThePlan) {
  MadeHost host;
  EXPECT_EQ(host.status("free_memory"), Status::ok);
  host.view.want.memory_bytes = std::int64_t{15} << 30;
  EXPECT_EQ(host.status("free_memory"), Status::fail);
  host.view.want.memory_bytes = 0;
  host.proc("meminfo", "MemTotal: 16000000 kB\nMemAvailable: 100000 kB\n");
  EXPECT_EQ(host.status("free_memory"), Status::warn);
}

TEST(MemoryChecks, WarnOfPagesThatComeBackFromSwap) {
  MadeHost host;
  host.measured();
  EXPECT_EQ(host.status("swap"), Status::ok);
  host.measured().after.swap_in_pages += 20;
  EXPECT_EQ(host.status("swap"), Status::note);
  host.measured().after.swap_in_pages += 5000;
  EXPECT_THAT(host.said("swap"), AllOf(HasSubstr("warn"), HasSubstr("10 to 100 times slower")));
}

TEST(MemoryChecks, WarnOfProgramsThatStandForMemory) {
  MadeHost host;
  host.measured().after.pressure_memory = 35;
  EXPECT_EQ(host.status("swap"), Status::warn);
}

TEST(MemoryChecks, WarnOfHugePagesAndOfStrictOvercommit) {
  MadeHost host;
  host.proc("meminfo", "MemTotal: 16000000 kB\nHugePages_Total: 2000\nHugepagesize: 2048 kB\n");
  EXPECT_THAT(host.said("memory_policy"), AllOf(HasSubstr("warn"), HasSubstr("vm.nr_hugepages")));
  host.proc("sys/vm/overcommit_memory", "2\n");
  EXPECT_EQ(host.ill("memory_policy").size(), 2u);
}

}  // namespace
}  // namespace troika::doctor
