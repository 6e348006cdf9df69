#include "host/lock_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/temporary_folder_test_support.h"
#include "host/process.h"

namespace troika::host {
namespace {

struct Waited : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The holder that is waited for; "free" where there is no holder.
template <class Lock>
std::string waits_for(const std::string& path) {
  try {
    const Lock lock(path, [](const base::Text& unseen) { throw Waited(unseen.english); });
    return "free";
  } catch (const Waited& waited) {
    return waited.what();
  }
}

template <class Lock>
class LockOnAFile : public testing::Test {};
using Locks = testing::Types<LockFile, ClaimFile>;
TYPED_TEST_SUITE(LockOnAFile, Locks);

TYPED_TEST(LockOnAFile, IsHeldByOneAtATime) {
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  {
    const TypeParam lock(path, {});
    EXPECT_EQ(waits_for<TypeParam>(path), "");
  }
  EXPECT_EQ(waits_for<TypeParam>(path), "free");
}

TYPED_TEST(LockOnAFile, GoesWithAProcessThatIsKilled) {
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  const pid_t child = ::fork();
  if (child == 0) {
    [[maybe_unused]] const auto* kept = new TypeParam(path, {});
    ::_exit(0);  // without its destructor
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(waits_for<TypeParam>(path), "free");
}

TEST(ClaimFile, OfAnotherHostIsWaitedForByName) {
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  base::append_file(path, "pi2\n4711\n12\n");
  EXPECT_EQ(waits_for<ClaimFile>(path), "process 4711 on pi2");
  base::remove_tree(path);
  base::append_file(path, fmt::format("{}\n{}\n{}\n", base::host_name(), ::getpid(), process_start(::getpid()) + 1));
  EXPECT_EQ(waits_for<ClaimFile>(path), "free") << "a later process has the number of the one that claimed";
}

TEST(LockFile, DoesNotFollowALink) {
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  ASSERT_EQ(::symlink("elsewhere", path.c_str()), 0);
  EXPECT_THROW(waits_for<LockFile>(path), base::DataError);
  EXPECT_FALSE(base::file_exists(folder.path() + "/elsewhere"));
}

}  // namespace
}  // namespace troika::host
