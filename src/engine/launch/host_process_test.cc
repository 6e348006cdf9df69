#include "launch/host_process.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "base/error.h"

namespace troika::launch {
namespace {
using Output = HostProcess::Output;

const std::map<std::string, std::string> system_path = {{"PATH", "/usr/bin:/bin"}};

HostProcess shell(const std::string& script) { return {{"sh", "-c", script}, system_path, Output::read}; }

std::string all_output(HostProcess& process) {
  std::string text;
  while (process.output() >= 0) {
    pollfd polled{process.output(), POLLIN, 0};
    ::poll(&polled, 1, 5000);
    text += process.read_output();
  }
  return text;
}

TEST(HostProcess, HearsAndAnswers) {
  HostProcess process = shell("read line; echo \"heard $line\"; echo one >&2; echo 'two ' >&2; exit 3");
  process.tell("a word");
  EXPECT_EQ(all_output(process), "heard a word\n");
  EXPECT_EQ(process.end(5), 3);
  process.read_complaints();
  EXPECT_EQ(process.complaint(), "two");
  process.tell("to nobody");
}

TEST(HostProcess, HearsTheEndOfItsInput) {
  HostProcess process = shell("cat > /dev/null; exit 4");
  EXPECT_FALSE(process.end());
  process.end_input();
  EXPECT_EQ(process.end(5), 4);
}

TEST(HostProcess, IsKilledWithWhatItHasStarted) {
  HostProcess process = shell("sleep 50 & sleep 50");
  process.kill();
  EXPECT_EQ(process.end(5), 128 + SIGKILL);
  EXPECT_EQ(all_output(process), "");  // the other sleep would keep it open
}

TEST(HostProcess, IsNotWaitedForWhenNobodyWantsItAnyMore) {
  const double began = base::monotonic_seconds();
  { const HostProcess process = shell("trap '' TERM; sleep 50"); }
  EXPECT_LT(base::monotonic_seconds() - began, 10);
}

TEST(HostProcess, ThatCannotBeStartedIsAnError) {
  EXPECT_THROW(HostProcess({"/nowhere/ssh"}, system_path, Output::read), base::ConfigError);
}

}  // namespace
}  // namespace troika::launch
