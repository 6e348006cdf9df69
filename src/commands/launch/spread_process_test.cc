// `troika launch --hosts` as a user starts it, with a stand-in for ssh that runs the other hosts' launchers on this machine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "commands/launch/launch_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// "far" is a host that no way leads to; the connection to "cut" is lost when there is a file `now`.
std::string folder_with_ssh(const std::string& name) {
  std::string folder = fresh_folder(name);
  base::make_directories(folder + "/bin");
  base::write_file_atomic(folder + "/bin/ssh", R"(#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac do shift 2; done
host=$1
shift
if [ "$host" = far ]; then echo "ssh: connect to host far port 22: No route to host" >&2; exit 255; fi
export SSH_CONNECTION="127.0.0.1 50000 127.0.0.1 22"
case $host,$* in
  *version*) ;;
  cut,*)
    mkfifo wire
    sh -c "$*" < wire &
    { IFS= read -r secret; printf '%s\n' "$secret"; until [ -e now ]; do sleep 0.05; done; } > wire
    exit 255 ;;
  *) touch "connected.$host" ;;
esac
exec sh -c "$*"
)");
  ::chmod((folder + "/bin/ssh").c_str(), 0700);
  return folder;
}

// `script` as each of two hosts' ranks.
std::vector<std::string> launch_of(const std::string& hosts, const std::string& script,
                                   const std::vector<std::string>& flags = {}) {
  std::vector<std::string> words = {"launch",    "--hosts", hosts, "--master-port", std::to_string(free_port()),
                                    "--program", "/bin/sh"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--", "-c", script});
  return words;
}

// Leaves its process number in pid.RANK and runs until it is asked to stop.
const char* const patient =
    "trap 'echo stopped > stopped.$RANK; exit 130' TERM; echo $$ > pid.$RANK; while :; do sleep 0.05; done";

TEST(LaunchHosts, StartsEveryHostAndEndsWithThem) {
  const std::string folder = folder_with_ssh("hosts");
  Launcher launcher(launch_of("pi1,pi2", "echo $GROUP_RANK $WORLD_SIZE $MASTER_ADDR $TROIKA_SECRET > said.$RANK",
                              {"--nproc-per-node", "2"}),
                    folder);
  EXPECT_EQ(launcher.wait(), 0) << launcher.output();
  EXPECT_THAT(launcher.output(), HasSubstr("2 hosts meet at 127.0.0.1:"));
  std::vector<std::string> secrets;
  for (int rank = 0; rank < 4; ++rank) {
    const auto words = base::split(base::trim(base::read_file(fmt::format("{}/said.{}", folder, rank))), ' ');
    ASSERT_EQ(words.size(), 4u) << "a secret was made";
    EXPECT_EQ(words[0] + " " + words[1] + " " + words[2], fmt::format("{} 4 127.0.0.1", rank / 2));
    secrets.push_back(words[3]);
    EXPECT_EQ(words[3], secrets[0]);
  }
  EXPECT_GE(secrets[0].size(), 16u);
  EXPECT_THAT(launcher.output(), Not(HasSubstr(secrets[0])));
}

TEST(LaunchHosts, NeedsNoSshForThisHost) {
  const std::string folder = folder_with_ssh("here");
  Launcher launcher(launch_of("localhost", "echo $RANK > said.$RANK"), folder);
  EXPECT_EQ(launcher.wait(), 0) << launcher.output();
  EXPECT_EQ(base::read_file(folder + "/said.0"), "0\n");
  EXPECT_FALSE(base::file_exists(folder + "/connected.localhost"));
}

TEST(LaunchHosts, ReturnsWhatTheRunReturns) {
  const std::string folder = folder_with_ssh("fails");
  Launcher launcher(launch_of("pi1,pi2", "[ $RANK = 0 ] && sleep 20; exit 3"), folder);
  EXPECT_EQ(launcher.wait(), 3) << launcher.output();
  EXPECT_THAT(launcher.output(), HasSubstr("rank 1"));
}

TEST(LaunchHosts, StopsAllOfThemWhenAsked) {
  const std::string folder = folder_with_ssh("stopped");
  Launcher launcher(launch_of("pi1,pi2", patient), folder);
  for (const char* rank : {"0", "1"}) await_file(folder + "/pid." + rank);
  launcher.signal(SIGINT);
  EXPECT_EQ(launcher.wait(), 130) << launcher.output();
  for (const char* rank : {"0", "1"}) EXPECT_TRUE(base::file_exists(folder + "/stopped." + rank));
}

TEST(LaunchHosts, KillsAllOfThemWhenAskedTwice) {
  const std::string folder = folder_with_ssh("killed");
  Launcher launcher(launch_of("pi1,pi2", "trap '' TERM INT; echo $$ > pid.$RANK; while :; do sleep 0.05; done"),
                    folder);
  std::vector<pid_t> ranks;
  for (const char* rank : {"0", "1"}) ranks.push_back(std::stoi(await_file(folder + "/pid." + rank)));
  launcher.signal(SIGTERM);
  launcher.await_output("stopping after this step");
  ::usleep(400'000);  // two within 0.3 s count as one
  launcher.signal(SIGTERM);
  EXPECT_EQ(launcher.wait(), 130) << launcher.output();
  for (const pid_t rank : ranks) await_end(rank);
}

TEST(LaunchHosts, LeavesNothingRunningWhenItsProcessIsKilled) {
  const std::string folder = folder_with_ssh("orphans");
  Launcher launcher(launch_of("pi1,pi2", patient), folder);
  std::vector<pid_t> ranks;
  for (const char* rank : {"0", "1"}) ranks.push_back(std::stoi(await_file(folder + "/pid." + rank)));
  launcher.signal(SIGKILL);
  for (const pid_t rank : ranks) await_end(rank);
  for (const char* rank : {"0", "1"}) EXPECT_TRUE(base::file_exists(folder + "/stopped." + rank));
}

TEST(LaunchHosts, NamesEveryHostThatCannotBeginBeforeAnyDoes) {
  const std::string folder = folder_with_ssh("faults");
  Launcher launcher(launch_of("pi1,far", "touch ran", {"--remote-program", "/nowhere/troika"}), folder);
  EXPECT_EQ(launcher.wait(), 75);
  EXPECT_THAT(launcher.output(),
              AllOf(HasSubstr("host 0 (pi1)"), HasSubstr("/nowhere/troika"), HasSubstr("host 1 (far)"),
                    HasSubstr("No route to host"), HasSubstr("must work without a password")));
  Launcher other(launch_of("pi1", "touch ran", {"--remote-folder", "/nowhere"}), folder);
  EXPECT_EQ(other.wait(), 2);
  EXPECT_THAT(other.output(), HasSubstr("--remote-folder"));
  EXPECT_FALSE(base::file_exists(folder + "/ran"));
}

TEST(LaunchHosts, SaysWhoseConnectionWasLost) {
  const std::string folder = folder_with_ssh("lost");
  Launcher launcher(launch_of("pi1,cut", patient), folder);
  for (const char* rank : {"0", "1"}) await_file(folder + "/pid." + rank);
  base::write_file_atomic(folder + "/now", "cut\n");
  EXPECT_EQ(launcher.wait(), 75) << launcher.output();
  EXPECT_THAT(launcher.output(), HasSubstr("host 1 (cut): ssh exited before the launcher there"));
  for (const char* rank : {"0", "1"}) await_file(folder + "/stopped." + rank);
}

}  // namespace
}  // namespace troika::commands
