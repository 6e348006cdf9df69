#include "host/memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::host {

// A made-up /proc and /sys/fs/cgroup.
struct FakeSystem {
  explicit FakeSystem(const std::string& name) : root(base::temporary_folder() + "/memory/" + name) {
    base::remove_tree(root);
    put("proc/meminfo", "MemTotal:       8000 kB\nMemAvailable:   4000 kB\n");
  }
  void put(const std::string& path, const std::string& content) const {
    base::make_directories(root + "/" + path.substr(0, path.find_last_of('/')));
    base::write_file_atomic(root + "/" + path, content);
  }
  std::int64_t available() const { return available_bytes(root + "/proc", root + "/cgroup"); }
  std::string root;
};

TEST(Memory, ResidentBytesGrowWithTouchedPages) {
  const ProcessMemory before = process_memory();
  std::vector<char> block(64 << 20, 1);
  const ProcessMemory after = process_memory();
  EXPECT_GT(before.resident_bytes, 0);
  EXPECT_GE(after.resident_bytes - before.resident_bytes, 60 << 20);
  EXPECT_GE(after.peak_resident_bytes, after.resident_bytes);
  EXPECT_EQ(block[1000], 1);
}

TEST(Memory, ThisMachineHasSomeAvailable) { EXPECT_GT(available_bytes(), 0); }

TEST(Memory, KillsAreThoseOfTheProcesssGroupAndNotOfOthersOnTheHost) {
  const FakeSystem system("kills");
  const auto kills = [&] { return memory_kills(system.root + "/proc", system.root + "/cgroup"); };
  EXPECT_EQ(kills(), -1);
  system.put("proc/vmstat", "pswpin 7\noom_kill 5\n");
  EXPECT_EQ(kills(), 5);
  system.put("proc/self/cgroup", "0::/slice/job\n");
  EXPECT_EQ(kills(), 5);  // the root of version 2 counts nothing
  system.put("cgroup/slice/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n");
  EXPECT_EQ(kills(), 2);  // the memory controller ends above the group
  system.put("cgroup/slice/job/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\n");
  EXPECT_EQ(kills(), 0);
}

TEST(Memory, KillsOfAGroupOfVersionOneAreItsOwn) {
  const FakeSystem system("kills-v1");
  const auto kills = [&] { return memory_kills(system.root + "/proc", system.root + "/cgroup"); };
  system.put("proc/vmstat", "oom_kill 5\n");
  system.put("proc/self/cgroup", "4:memory:/box/job\n0::/\n");
  system.put("cgroup/memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  system.put("cgroup/memory/box/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_EQ(kills(), 1);
  system.put("cgroup/memory/box/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");  // before Linux 4.13
  system.put("cgroup/memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");
  EXPECT_EQ(kills(), 5);
}

TEST(Memory, WithoutCgroupItIsMemAvailable) { EXPECT_EQ(FakeSystem("plain").available(), 4000 * 1024); }

TEST(Memory, CgroupV2LimitOfAParentCounts) {
  const FakeSystem system("v2");
  system.put("proc/self/cgroup", "0::/slice/job\n");
  system.put("cgroup/slice/job/memory.max", "max\n");
  system.put("cgroup/slice/job/memory.current", "1000\n");
  system.put("cgroup/slice/memory.max", "500000\n");
  system.put("cgroup/slice/memory.current", "200000\n");
  EXPECT_EQ(system.available(), 300000);
}

TEST(Memory, PagesOfFilesInACgroupAreAvailable) {
  const FakeSystem two("files v2"), one("files v1");
  two.put("proc/self/cgroup", "0::/job\n");
  two.put("cgroup/job/memory.max", "500000\n");
  two.put("cgroup/job/memory.current", "450000\n");
  two.put("cgroup/job/memory.stat",
          "anon 100000\nfile 340000\nshmem 20000\ninactive_file 200000\nactive_file 120000\n");
  EXPECT_EQ(two.available(), 370000);
  one.put("proc/self/cgroup", "4:memory:/job\n");
  one.put("cgroup/memory/job/memory.limit_in_bytes", "1000\n");
  one.put("cgroup/memory/job/memory.usage_in_bytes", "900\n");
  one.put("cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 200\n");
  EXPECT_EQ(one.available(), 600);
}

TEST(Memory, CgroupV1LimitCountsAndIsNeverNegative) {
  const FakeSystem system("v1");
  system.put("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n");
  system.put("cgroup/memory/job/memory.limit_in_bytes", "1000\n");
  system.put("cgroup/memory/job/memory.usage_in_bytes", "1500\n");
  EXPECT_EQ(system.available(), 0);
}

TEST(Memory, OfAProcessTellsPagesOfFilesFromOthers) {
  const FakeSystem system("status");
  system.put("proc/self/status",
             "VmHWM:\t    120 kB\nVmRSS:\t     100 kB\nRssAnon:\t      40 kB\nRssFile:\t      60 kB\n");
  const ProcessMemory memory = process_memory(system.root + "/proc");
  EXPECT_EQ(memory.resident_bytes, 100 * 1024);
  EXPECT_EQ(memory.peak_resident_bytes, 120 * 1024);
  EXPECT_EQ(memory.anonymous_bytes, 40 * 1024);
}

TEST(Memory, AbsentFilesGiveMinusOneAndZeros) {
  EXPECT_EQ(available_bytes("/nonexistent", "/nonexistent"), -1);
  EXPECT_EQ(process_memory("/nonexistent").resident_bytes, 0);
}

}  // namespace troika::host
