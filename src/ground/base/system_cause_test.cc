#include "base/cause.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace troika::base {
namespace {

TEST(SystemCause, IsInEnglishWhatTheSystemSays) {
  for (int code = 1; code <= EHWPOISON; ++code) EXPECT_STREQ(system_cause(code).english.c_str(), std::strerror(code));
}

TEST(SystemCause, NamesTheLimitOfThisProcessWhereAFileIsTooLarge) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{100 << 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Text cause = system_cause(EFBIG);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(cause.english, "files here may have at most 100.0 KiB (ulimit -f): raise that limit, or remove it with `ulimit -f unlimited`");
}

TEST(SystemCause, OfAnUnknownNumberIsWhatTheSystemSaysInBoth) {
  EXPECT_EQ(system_cause(4711).english, std::strerror(4711));
  EXPECT_EQ(system_cause(4711).chinese, std::strerror(4711));
}

}  // namespace
}  // namespace troika::base
