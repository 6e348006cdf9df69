#include "host/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troika::host {
namespace {

// A child that waits to be ended.
class WaitingChild {
 public:
  WaitingChild() : pid_(::fork()) {
    if (pid_ == 0)
      for (;;) ::pause();
  }
  ~WaitingChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

TEST(Process, HasAStartThatStays) {
  const std::int64_t start = process_start(::getpid());
  EXPECT_GT(start, 0);
  EXPECT_EQ(process_start(::getpid()), start);
  EXPECT_EQ(process_start(0), 0);
}

TEST(Process, IsKnownToBeStopped) {
  const WaitingChild child;
  EXPECT_FALSE(is_stopped(child.pid()));
  ::kill(child.pid(), SIGSTOP);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WSTOPPED), 0);
  EXPECT_TRUE(is_stopped(child.pid()));
  EXPECT_FALSE(is_stopped(0));
}

TEST(HeldProcess, ReachesTheOneOfThatStartAlone) {
  const WaitingChild child;
  const std::int64_t start = process_start(child.pid());
  const HeldProcess other({child.pid(), start + 1});
  EXPECT_FALSE(other.found());
  EXPECT_FALSE(other.send(SIGKILL));
  EXPECT_TRUE(other.ends_within(0));

  const HeldProcess held({child.pid(), start});
  ASSERT_TRUE(held.found());
  EXPECT_FALSE(held.ends_within(0));
  EXPECT_TRUE(held.send(SIGTERM));
  EXPECT_TRUE(held.ends_within(20));
  EXPECT_EQ(process_start(child.pid()), 0);  // although nobody has waited for it
}

}  // namespace
}  // namespace troika::host
