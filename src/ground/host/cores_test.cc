#include "host/cores.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <thread>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::host {
namespace {

TEST(Cores, AreThoseOfTheAffinityMask) {
  const std::vector<int> before = allowed_cores();
  ASSERT_FALSE(before.empty());
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(before.back()), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(allowed_cores(), std::vector<int>{before.back()});
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(allowed_cores(), before);
  EXPECT_LE(usable_cores(), static_cast<int>(before.size()));
}

TEST(Cores, AreSharedByRanksThatMayRunOnAllOfThem) {
  EXPECT_EQ(share_of_cores(32, 32, 0, 1), 32);
  EXPECT_EQ(share_of_cores(32, 32, 0, 3), 10);
  EXPECT_EQ(share_of_cores(2, 2, 0, 5), 1);
}

TEST(Cores, OfABoundRankAreAllItsOwn) {
  EXPECT_EQ(share_of_cores(16, 32, 0, 2), 16);  // a socket each
  EXPECT_EQ(share_of_cores(8, 32, 0, 2), 8);
  EXPECT_EQ(share_of_cores(1, 32, 0, 2), 1);
}

TEST(Cores, OfABoundRankAreSharedWithOthersBoundToThem) {
  EXPECT_EQ(share_of_cores(16, 32, 0, 4), 8);  // two ranks per socket
}

TEST(Cores, UnderALauncherThatDoesNotShowItsOwnAreShared) { EXPECT_EQ(share_of_cores(16, 0, 0, 2), 8); }

TEST(Cores, UnderAQuotaAreSharedWithTheOtherRanks) {
  EXPECT_EQ(share_of_cores(16, 16, 4, 1), 4);
  EXPECT_EQ(share_of_cores(16, 16, 4, 2), 2);
  EXPECT_EQ(share_of_cores(8, 16, 4, 2), 2);
  EXPECT_EQ(share_of_cores(8, 16, 1, 2), 1);
}

TEST(Cores, OfTheLauncherAreLentToABoundRankForAWhile) {
  const std::vector<int> before = allowed_cores();  // those of the test's parent too, which is not bound
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(before.front()), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  {
    const CoresOfLauncher lent;
    EXPECT_EQ(allowed_cores(), before);
  }
  EXPECT_EQ(allowed_cores(), std::vector<int>{before.front()});
  ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
}

// In a process of its own: the setting is the whole process's and cannot be taken back.
TEST(Cores, OfAThreadAreNotThoseItsStarterIsBoundTo) {
  EXPECT_EXIT(
      {
        const std::vector<int> all = allowed_cores();
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(all.front()), &one);
        ::sched_setaffinity(0, sizeof one, &one);  // as OpenMP binds the main thread
        start_threads_on(all);
        bool well = allowed_cores() == all;
        std::thread([&] {
          cpu_set_t own;
          ::sched_getaffinity(0, sizeof own, &own);
          well = well && CPU_COUNT(&own) == static_cast<int>(all.size());
        }).join();
        { const CoresOfLauncher lent; }
        cpu_set_t after;
        ::sched_getaffinity(0, sizeof after, &after);
        ::_exit(well && CPU_COUNT(&after) == 1 && allowed_cores() == all ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Cores, AreFormattedAsRanges) {
  EXPECT_EQ(format_cores({}), "");
  EXPECT_EQ(format_cores({3}), "3");
  EXPECT_EQ(format_cores({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

class Quota : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    base::make_directories(folder_.path() + "/" + path.substr(0, path.rfind('/')));
    base::write_file_atomic(folder_.path() + "/" + path, text);
  }
  int cores() const { return quota_cores(folder_.path() + "/proc", folder_.path() + "/cgroup"); }

  const base::TemporaryFolder folder_;
};

TEST_F(Quota, IsTheLeastOfTheGroupAndItsParents) {
  EXPECT_EQ(cores(), 0);
  write("proc/self/cgroup", "0::/outer/inner\n");
  EXPECT_EQ(cores(), 0);
  write("cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), 0);
  write("cgroup/outer/cpu.max", "400000 100000\n");
  EXPECT_EQ(cores(), 4);
  write("cgroup/outer/inner/cpu.max", "150000 100000\n");
  EXPECT_EQ(cores(), 2);  // rounded up
}

TEST_F(Quota, OfTheFirstVersionOfControlGroupsCountsToo) {
  write("proc/self/cgroup", "3:cpu,cpuacct:/job\n2:memory:/job\n");
  write("cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), 0);
  write("cgroup/cpu/job/cpu.cfs_quota_us", "300000\n");
  write("cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), 3);
}

}  // namespace
}  // namespace troika::host
