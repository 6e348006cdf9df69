#include <gmock/gmock.h>

#include "doctor/made_host_test_support.h"

namespace troika::doctor {
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
  EXPECT_THAT(host.said("file_system"), AllOf(HasSubstr("warn"), HasSubstr("lies in memory")));
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
