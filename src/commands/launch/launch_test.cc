#include "commands/launch/launch.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "commands/launch/launch_test_support.h"
#include "host/cores.h"
#include "launch/flags.h"
#include "rendezvous/store.h"

namespace troika::commands {
namespace {
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(Launch, GivesEveryRankItsPlace) {
  const std::string folder = fresh_folder("place");
  Launcher launcher(
      {"--nproc-per-node", "3"},
      "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $TROIKA_GENERATION $MASTER_ADDR:$MASTER_PORT "
      "$TROIKA_STORE $OMP_NUM_THREADS > place.$RANK; echo said by $RANK",
      folder);
  EXPECT_EQ(launcher.wait(), 0);
  for (const std::string rank : {"0", "1", "2"}) {
    EXPECT_THAT(base::read_file(folder + "/place." + rank),
                MatchesRegex(rank + " 3 " + rank + " 3 0 0 127.0.0.1:[0-9]+ 127.0.0.1:[0-9]+ [0-9]+\n"));
  }
  EXPECT_THAT(launcher.output(), HasSubstr("said by 0"));
  EXPECT_THAT(launcher.output(), Not(HasSubstr("said by 1")));
  EXPECT_EQ(base::read_file(folder + "/logs/rank-00002.log"), "said by 2\n");
}

// Every rank leaves the cores it may run on in mask.RANK.
void write_masks(const std::string& folder, const std::vector<std::string>& flags, const std::string& ranks) {
  std::vector<std::string> all = {"--nproc-per-node", ranks};
  all.insert(all.end(), flags.begin(), flags.end());
  Launcher launcher(all, "grep Cpus_allowed_list /proc/self/status | cut -f 2 > mask.$RANK", folder);
  EXPECT_EQ(launcher.wait(), 0);
}

std::string mask_of(const std::string& folder, int rank) {
  return base::trim(base::read_file(folder + "/mask." + std::to_string(rank)));
}

TEST(Launch, BindsRanksToCoresOfTheirOwn) {
  const std::string folder = fresh_folder("bound");
  const std::vector<int> cores = host::allowed_cores();
  const int ranks = std::min(host::usable_cores(), 64);
  write_masks(folder, {}, std::to_string(ranks));
  const auto shares = launch::share_cores(cores, host::usable_cores(), ranks, launch::Bind::automatic);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& mine = ranks == 1 ? cores : shares[static_cast<std::size_t>(rank)].cores;
    EXPECT_EQ(mask_of(folder, rank), host::format_cores(mine));
  }
}

TEST(Launch, BindsNobodyWhenAskedNotTo) {
  const std::string folder = fresh_folder("unbound");
  write_masks(folder, {"--bind", "none"}, "2");
  for (const int rank : {0, 1}) EXPECT_EQ(mask_of(folder, rank), host::format_cores(host::allowed_cores()));
}

TEST(Launch, BindsNobodyAndSaysSoWhenRanksAreMoreThanCores) {
  const std::string folder = fresh_folder("crowded");
  const int cores = host::usable_cores();
  Launcher launcher({"--nproc-per-node", std::to_string(cores + 1)},
                    "grep Cpus_allowed_list /proc/self/status | cut -f 2 > mask.$RANK; "
                    "echo $OMP_NUM_THREADS $OMP_WAIT_POLICY > threads.$RANK",
                    folder);
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_EQ(mask_of(folder, cores), host::format_cores(host::allowed_cores()));
  EXPECT_EQ(base::read_file(folder + "/threads.0"), "1 passive\n");
  EXPECT_THAT(launcher.output(), HasSubstr(std::to_string(cores + 1) + " ranks share " + std::to_string(cores)));
}

TEST(Launch, HostsMeetInAnyOrder) {
  const std::string folder = fresh_folder("hosts"), port = std::to_string(free_port());
  const std::vector<std::string> flags = {"--nnodes",      "2",         "--nproc-per-node", "2",
                                          "--master-addr", "127.0.0.1", "--master-port",    port};
  const auto with_rank = [&](const char* rank) {
    std::vector<std::string> all = flags;
    all.insert(all.end(), {"--node-rank", rank});
    return all;
  };
  Launcher second(with_rank("1"), "echo $WORLD_SIZE $GROUP_RANK $LOCAL_RANK > place.$RANK", folder);
  Launcher first(with_rank("0"), "echo $WORLD_SIZE $GROUP_RANK $LOCAL_RANK > place.$RANK", folder);
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(base::read_file(folder + "/place.0"), "4 0 0\n");
  EXPECT_EQ(base::read_file(folder + "/place.3"), "4 1 1\n");
  EXPECT_THAT(second.output(), HasSubstr("rank 2 writes to logs/rank-00002.log"));
}

TEST(Launch, PassesOneInterruptOnAndSaysSo) {
  const std::string folder = fresh_folder("interrupt");
  Launcher launcher({"--nproc-per-node", "2"},
                    "trap 'echo saved > saved.$RANK; exit 130' INT; echo up > up.$RANK; while :; do sleep 0.02; done",
                    folder);
  await_file(folder + "/up.0");
  await_file(folder + "/up.1");
  launcher.signal(SIGINT);
  EXPECT_EQ(launcher.wait(), 130);
  EXPECT_EQ(base::read_file(folder + "/saved.0"), "saved\n");
  EXPECT_EQ(base::read_file(folder + "/saved.1"), "saved\n");
}

TEST(Launch, ASecondInterruptEndsAtOnce) {
  const std::string folder = fresh_folder("twice");
  Launcher launcher({"--nproc-per-node", "2"},
                    "trap 'echo heard > heard.$RANK' TERM; echo $$ > up.$RANK; while :; do sleep 0.02; done", folder);
  const pid_t worker = std::stoi(await_file(folder + "/up.1"));
  await_file(folder + "/up.0");
  launcher.signal(SIGTERM);
  await_file(folder + "/heard.0");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));  // sooner, it would count as the same signal sent twice
  launcher.signal(SIGTERM);
  EXPECT_EQ(launcher.wait(), 130);
  await_end(worker);
}

TEST(Launch, OneWishToldTwiceIsOneWish) {
  const std::string folder = fresh_folder("told-twice");
  Launcher launcher({"--nproc-per-node", "1"},
                    "trap 'sleep 0.5; exit 130' TERM; echo $$ > up.$RANK; while :; do sleep 0.02; done", folder);
  const pid_t worker = std::stoi(await_file(folder + "/up.0"));
  launcher.signal(SIGTERM);
  launcher.signal(SIGTERM);
  EXPECT_EQ(launcher.wait(), 130);
  EXPECT_EQ(launcher.output().find("killed"), std::string::npos) << launcher.output();
  await_end(worker);
}

TEST(Launch, StartsAgainWithAnotherGeneration) {
  const std::string folder = fresh_folder("restart");
  Launcher launcher({"--nproc-per-node", "2", "--max-restarts", "3"},
                    "echo $TROIKA_GENERATION >> attempts.$RANK; [ $TROIKA_GENERATION = 1 ] || exit 70", folder);
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_THAT(base::read_file(folder + "/attempts.0"), HasSubstr("1\n"));
  EXPECT_THAT(launcher.output(), HasSubstr("restart 1 of 3 in 1 s"));
}

TEST(Launch, TakesTheNextPortOnOneHost) {
  const std::string folder = fresh_folder("port");
  Launcher first({}, "echo $MASTER_PORT > first; while [ ! -e second ]; do sleep 0.02; done", folder);
  const std::string port = await_file(folder + "/first");
  Launcher second({}, "echo $MASTER_PORT > second", folder);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(first.wait(), 0);
  EXPECT_NE(base::read_file(folder + "/second"), port);
}

}  // namespace
}  // namespace troika::commands
