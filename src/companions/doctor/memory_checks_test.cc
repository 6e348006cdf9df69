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

namespace {
using testing::AllOf;
using testing::HasSubstr;

TEST(DiskChecks, WarnOfASlowDiskAndNoteOneThatIsTooFast) {
  MadeHost host;
  EXPECT_EQ(host.status("fsync"), Status::not_checked);
  host.measured();
  EXPECT_EQ(host.status("fsync"), Status::ok);
  host.measured().sync_seconds = 0.12;
  EXPECT_THAT(host.said("fsync"), AllOf(HasSubstr("warn"), HasSubstr("--out")));
  host.measured().sync_seconds = 2e-5;
  EXPECT_EQ(host.status("fsync"), Status::note);
}

TEST(DiskChecks, KnowFileSystemsThatDoNotLast) {
  MadeHost host;
  host.view.disk->type = 0x1021994;
  EXPECT_THAT(host.said("file_system"), AllOf(HasSubstr("warn"), HasSubstr("are in memory and lost after a restart")));
  host.view.disk->type = 0x794c7630;
  EXPECT_THAT(host.said("file_system"), AllOf(HasSubstr("note"), HasSubstr("container")));
  host.view.disk->writable = false;
  EXPECT_EQ(host.status("file_system"), Status::fail);
  host.view.disk.reset();
  EXPECT_EQ(host.status("file_system"), Status::not_checked);
}

TEST(DiskChecks, WarnOfASoftMountOfTheRunsFolderAlone) {
  MadeHost host;
  host.view.disk->type = 0x6969;
  host.proc("self/mountinfo",
            "1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n2 1 0:50 / /runs rw - nfs4 server:/runs rw,vers=4,hard\n3 1 "
            "0:51 / /run rw - nfs4 server:/run rw,soft\n");
  EXPECT_EQ(host.status("file_system"), Status::ok);
  host.view.disk->folder = "/run/tiny";
  EXPECT_THAT(host.said("file_system"), AllOf(HasSubstr("warn"), HasSubstr("mount it hard")));
}

TEST(DiskChecks, CompareFreeSpaceWithTheCheckpoints) {
  MadeHost host;
  host.view.want.disk_bytes = std::int64_t{30} << 30;
  EXPECT_EQ(host.status("free_space"), Status::ok);
  host.view.disk->free_bytes = std::int64_t{20} << 30;
  EXPECT_THAT(host.said("free_space"), AllOf(HasSubstr("warn"), HasSubstr("30.0 GiB"), HasSubstr("checkpoint.keep")));
  host.view.want.disk_bytes = 0;
  EXPECT_EQ(host.status("free_space"), Status::ok);
  host.view.disk->free_bytes = 500 << 20;
  EXPECT_EQ(host.status("free_space"), Status::warn);
  host.view.disk->free_bytes = 1 << 20;
  EXPECT_EQ(host.status("free_space"), Status::fail);
}

TEST(DiskChecks, WarnOfAQuotaThatRefusesWhatIsFree) {
  MadeHost host;
  host.measured().space_is_granted = false;
  EXPECT_THAT(host.said("free_space"), AllOf(HasSubstr("warn"), HasSubstr("quota")));
}

}  // namespace

}  // namespace troika::doctor
