#include "host/thread_limit.h"

#include <gmock/gmock.h>

#include <atomic>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::host {
namespace {
using ::testing::HasSubstr;

// A host of which the control group /a/b allows `most` threads and has `used`.
std::string said_of(const std::string& most, const std::string& used, const ThreadLimits& limits) {
  const base::TemporaryFolder folder;
  const std::string root = folder.path();
  base::make_directories(root + "/proc/self");
  base::make_directories(root + "/cgroup/a/b");
  base::write_file_atomic(root + "/proc/self/cgroup", "0::/a/b\n");
  base::write_file_atomic(root + "/cgroup/a/b/pids.max", most + "\n");
  base::write_file_atomic(root + "/cgroup/a/b/pids.current", used + "\n");
  return no_more_threads_in(root + "/proc", root + "/cgroup", limits).english;
}

TEST(ThreadLimit, NamesTheLimitThatStandsInTheWay) {
  EXPECT_THAT(said_of("26", "26", {}), HasSubstr("/cgroup/a/b/pids.max' allows 26, and 26 are in use; raise it"));
  EXPECT_THAT(said_of("26", "20", {}), HasSubstr("pids.max"));
  EXPECT_THAT(said_of("max", "300", {-1, 400, 0}), HasSubstr("this user may have 400 (ulimit -u)"));
  EXPECT_THAT(said_of("9000", "300", {-1, 400, 0}), HasSubstr("ulimit -u"));
  const ThreadLimits small{std::int64_t{700} << 20, 400, std::int64_t{690} << 20};
  EXPECT_THAT(said_of("9000", "300", small), HasSubstr("may use 700.0 MiB of address space (ulimit -v)"));
  EXPECT_THAT(said_of("max", "300", {}), HasSubstr("threads-max"));
}

TEST(ThreadLimit, OnlyTheSystemsRefusalIsOne) {
  EXPECT_TRUE(is_thread_limit(std::system_error(EAGAIN, std::generic_category())));
  EXPECT_FALSE(is_thread_limit(std::system_error(EINVAL, std::generic_category())));
  EXPECT_FALSE(is_thread_limit(std::runtime_error("Resource temporarily unavailable")));
}

TEST(ThreadLimit, ThreadsThatAreRequiredRunAtOnceAndHaveEnded) {
  require_threads(5);
  std::atomic<int> ran{0};
  start_thread([&] { ++ran; }).join();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace troika::host
