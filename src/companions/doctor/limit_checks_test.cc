#include <gmock/gmock.h>

#include "doctor/made_host_test_support.h"

namespace troika::doctor {
namespace {
using testing::AllOf;
using testing::HasSubstr;

TEST(LimitChecks, WarnOfFewFilesAndFailOfHardlyAny) {
  MadeHost host;
  host.view.limits.files_soft = 1024;  // Debian's default; Troika raises it
  EXPECT_EQ(host.status("limits"), Status::note);
  host.view.limits.files_hard = 1024;
  EXPECT_THAT(host.said("limits"), AllOf(HasSubstr("warn"), HasSubstr("ulimit -n 65536"), HasSubstr("LimitNOFILE")));
  host.view.limits.files_hard = 64;
  EXPECT_EQ(host.status("limits"), Status::fail);
}

TEST(LimitChecks, WarnOfFewProcessesInTheGroupOrForTheUser) {
  MadeHost host;
  host.group("pids.max", "300\n");
  EXPECT_THAT(host.said("limits"), AllOf(HasSubstr("warn"), HasSubstr("pids.max")));
  host.group("pids.max", "max\n");
  EXPECT_EQ(host.said("limits"), "");
  host.view.limits.processes = 10;
  EXPECT_THAT(host.said("limits"), HasSubstr("fail"));
}

TEST(LimitChecks, WarnOfALimitOfLockedMemoryWhereThereIsInfiniband) {
  MadeHost host;
  host.view.limits.locked_bytes = 8 << 20;
  EXPECT_EQ(host.said("limits"), "");
  host.sys("class/infiniband/mlx5_0/node_type", "1: CA\n");
  EXPECT_THAT(host.said("limits"), AllOf(HasSubstr("warn"), HasSubstr("LimitMEMLOCK=infinity")));
}

TEST(LimitChecks, CompareThePlanWithTheLeastLimitOfTheGroups) {
  MadeHost host;
  host.group("memory.max", "4294967296\n");
  EXPECT_EQ(host.status("cgroup_memory"), Status::ok);
  host.view.want.memory_bytes = std::int64_t{2} << 30;
  EXPECT_EQ(host.status("cgroup_memory"), Status::ok);
  host.sys("fs/cgroup/memory.high", "2202009600\n");  // of a group above
  EXPECT_THAT(host.said("cgroup_memory"), AllOf(HasSubstr("warn"), HasSubstr("batch.micro_batch_size")));
  host.view.want.memory_bytes = std::int64_t{3} << 30;
  EXPECT_EQ(host.status("cgroup_memory"), Status::fail);
}

TEST(LimitChecks, WarnOfAGroupThatIsTooSmallForAnything) {
  MadeHost host;
  host.group("memory.max", "104857600\n");
  EXPECT_EQ(host.status("cgroup_memory"), Status::warn);
}

TEST(LimitChecks, KnowTheFirstVersionOfControlGroups) {
  MadeHost host;
  host.proc("self/cgroup", "4:memory:/box\n1:cpu,cpuacct:/box\n");
  host.sys("fs/cgroup/memory/box/memory.limit_in_bytes", "104857600\n");
  host.sys("fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n");
  host.sys("fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(host.status("cgroup_memory"), Status::warn);
  EXPECT_EQ(host.status("cgroup_cpu"), Status::warn);
}

TEST(LimitChecks, CompareThreadsWithTheQuota) {
  MadeHost host;
  host.group("cpu.max", "200000 100000\n");
  EXPECT_EQ(host.status("cgroup_cpu"), Status::note);
  host.view.want.threads = 2;
  EXPECT_EQ(host.status("cgroup_cpu"), Status::ok);
  host.view.want.ranks = 2;
  EXPECT_THAT(host.said("cgroup_cpu"), AllOf(HasSubstr("warn"), HasSubstr("train.threads")));
}

TEST(LimitChecks, WarnOfMoreThreadsOrRanksThanCores) {
  MadeHost host;
  host.view.want.ranks = 2;
  host.view.want.threads = 2;
  EXPECT_EQ(host.status("threads"), Status::ok);
  host.view.want.threads = 3;
  EXPECT_THAT(host.said("threads"), HasSubstr("set train.threads to 2"));
  host.view.want.threads = 0;
  host.view.environment = {{"OMP_NUM_THREADS", "4"}};
  EXPECT_THAT(host.said("threads"), HasSubstr("Unset OMP_NUM_THREADS"));
  host.view.environment["TROIKA_STORE"] = "x:1";  // then the launcher has set it
  EXPECT_EQ(host.said("threads"), "");
  host.view.want.ranks = 5;
  EXPECT_THAT(host.said("threads"), HasSubstr("at most 4 ranks"));
}

TEST(LimitChecks, KnowThatSrunGivesOneCore) {
  MadeHost host;
  host.view.cores = 1;
  EXPECT_EQ(host.said("threads"), "");
  host.view.environment = {{"SLURM_STEP_ID", "0"}};
  EXPECT_THAT(host.said("threads"), HasSubstr("srun -c"));
}

TEST(LimitChecks, NoteOtherWork) {
  MadeHost host;
  host.proc("loadavg", "3.50 1 1 4/100 4711\n");
  EXPECT_EQ(host.status("threads"), Status::note);
}

}  // namespace
}  // namespace troika::doctor
