
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::base {
namespace {

TEST(WholeWrite, OfAFullDiskSaysSo) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(write_whole(full.number(), "text"), ENOSPC);
}

TEST(WholeWrite, ThatIsCutShortIsNoSuccess) {
  const std::string path = temporary_folder() + "/cut";
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{10, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  errno = ENOENT;
  const int appended = write_whole(file.number(), std::string(25, 'a'));
  const int placed = write_whole_at(file.number(), "123456", 7);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(appended, EFBIG);
  EXPECT_EQ(placed, EFBIG);
  EXPECT_EQ(read_file(path), "aaaaaaa123");
  EXPECT_EQ(write_whole_at(file.number(), "456", 10), 0);
  EXPECT_EQ(read_file(path), "aaaaaaa123456");
}

TEST(WholeWrite, NeedsNoSyncWhereThereIsNone) {
  const Descriptor nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(sync_whole(nothing.number()), 0) << "the system answers EINVAL";
  EXPECT_EQ(sync_whole(-1), EBADF);
}

}  // namespace
}  // namespace troika::base
