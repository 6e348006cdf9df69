#include "serve/detached.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"

namespace troika::serve {
namespace {
using testing::HasSubstr;

class Detached : public testing::Test {
 protected:
  DetachedProgram script(const std::string& text) const {
    return {{"/bin/sh", "-c", text}, {{"PATH", "/usr/bin:/bin"}, {"SAID", "yes"}}, folder.path(), log};
  }
  std::string await_file(const std::string& name) const {
    const std::string path = folder.path() + "/" + name;
    for (const double until = base::monotonic_seconds() + 20; base::monotonic_seconds() < until; ::usleep(10'000))
      if (base::file_exists(path) && base::file_size(path) > 0) return base::read_file(path);
    ADD_FAILURE() << path << " did not come";
    return "";
  }
  void await_no_writer() const {
    for (const double until = base::monotonic_seconds() + 20; base::monotonic_seconds() < until; ::usleep(10'000))
      if (!has_writer(log)) return;
    ADD_FAILURE() << "the log is still written to";
  }

  const base::TemporaryFolder folder;
  const std::string log = folder.path() + "/said.log";
};

TEST_F(Detached, AnEndWithAnErrorIsSaidWithItsLastWords) {
  base::write_file_atomic(log, "from before\n");
  const DetachedStart start = start_detached(script("echo one; echo 'two \033[1m' >&2; exit 3"), 20);
  EXPECT_TRUE(start.ended);
  EXPECT_EQ(start.exit_code, 3);
  EXPECT_EQ(start.last_words, "one\ntwo \\x1b[1m");
  EXPECT_THAT(base::read_file(log), HasSubstr("from before\none\n"));
  EXPECT_EQ(start_detached(script("kill -9 $$"), 20).exit_code, 128 + SIGKILL);
}

TEST_F(Detached, LivesOnWithNothingOfWhoStartedIt) {
  const int open_here = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ::signal(SIGUSR2, SIG_IGN);
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const DetachedStart start =
      start_detached(script("ls /proc/self/fd | tr '\\n' ' ' > fds; grep -E 'Sig(Blk|Ign)' /proc/self/status > "
                            "signals; echo $SAID > said; "
                            "cut -d' ' -f6 /proc/self/stat > session; echo $$ > pid; exec sleep 60"),
                     0.05);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGUSR2, SIG_DFL);
  ::close(open_here);
  EXPECT_FALSE(start.ended);
  const pid_t pid = std::stoi(await_file("pid"));
  EXPECT_EQ(await_file("fds"), "0 1 2 3 ");  // 3: that of ls itself
  EXPECT_THAT(await_file("signals"), HasSubstr("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000"));
  EXPECT_EQ(await_file("said"), "yes\n");
  EXPECT_NE(std::stoi(await_file("session")), ::getsid(0));
  EXPECT_TRUE(has_writer(log));
  EXPECT_THROW(start_detached(script("true"), 0), base::ConfigError);
  ::kill(pid, SIGKILL);
  await_no_writer();
  for (const double until = base::monotonic_seconds() + 20; ::kill(pid, 0) == 0; ::usleep(10'000))
    ASSERT_LT(base::monotonic_seconds(), until) << "nobody has collected its end";
}

TEST_F(Detached, WhatCannotBeStartedIsSaid) {
  DetachedProgram absent = script("");
  absent.words = {"/no/such/program"};
  EXPECT_THROW(start_detached(absent, 5), base::ConfigError);
  DetachedProgram elsewhere = script("true");
  ASSERT_EQ(::symlink("/dev/full", (folder.path() + "/link").c_str()), 0);
  elsewhere.log = folder.path() + "/link";
  EXPECT_THROW(start_detached(elsewhere, 5), base::ConfigError);
}

}  // namespace
}  // namespace troika::serve
