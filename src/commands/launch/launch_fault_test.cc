#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <memory>

#include "base/await_test_support.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "commands/launch/launch_test_support.h"
#include "launch/host_store.h"
#include "rendezvous/store.h"

namespace troika::commands {
namespace {
using base::monotonic_seconds;
using ::testing::HasSubstr;

// The flags of one of two hosts; those in `more` count instead.
std::vector<std::string> host_flags(int node, const std::string& port, std::vector<std::string> more = {}) {
  const std::vector<std::string> usual = {"--nnodes",      "2",  "--master-addr", "127.0.0.1",
                                          "--master-port", port, "--node-rank",   std::to_string(node)};
  for (std::size_t i = 0; i < usual.size(); i += 2) {
    if (std::find(more.begin(), more.end(), usual[i]) == more.end()) more.insert(more.end(), {usual[i], usual[i + 1]});
  }
  return more;
}

TEST(LaunchFaults, ARankThatFailsEndsTheOthersAndGivesItsCode) {
  const std::string folder = fresh_folder("fails");
  Launcher launcher({"--nproc-per-node", "3"},
                    "echo $$ > up.$RANK; [ $RANK = 2 ] && { seq 1 30; echo the reason; exit 3; }; exec sleep 100",
                    folder);
  const pid_t other = std::stoi(await_file(folder + "/up.1"));
  const double before = monotonic_seconds();
  EXPECT_EQ(launcher.wait(), 3);
  EXPECT_LT(monotonic_seconds() - before, 5);
  await_end(other);
  const std::string output = launcher.output();
  EXPECT_THAT(output, HasSubstr("troika launch: rank 2 (host "));
  EXPECT_THAT(output, HasSubstr("exited with code 3\nlast lines of logs/rank-00002.log:\n12\n"));
  EXPECT_THAT(output, HasSubstr("the reason"));
}

TEST(LaunchFaults, AKilledRankEndsEvenThoseThatWillNotListen) {
  const std::string folder = fresh_folder("killed");
  Launcher launcher({"--nproc-per-node", "2"}, "trap '' TERM INT; echo $$ > up.$RANK; while :; do sleep 0.05; done",
                    folder);
  const pid_t victim = std::stoi(await_file(folder + "/up.1")), other = std::stoi(await_file(folder + "/up.0"));
  ::kill(victim, SIGKILL);
  const double before = monotonic_seconds();
  EXPECT_EQ(launcher.wait(), 75);
  EXPECT_LT(monotonic_seconds() - before, 5.5);
  await_end(other);
  EXPECT_THAT(launcher.output(), HasSubstr("rank 1 (host "));
  EXPECT_THAT(launcher.output(), HasSubstr("was killed by signal 9 (SIGKILL)"));
}

TEST(LaunchFaults, ARankThatIsStoppedBeforeItJoinsIsNamedAtOnceAndOnce) {
  const std::string folder = fresh_folder("stopped");
  Launcher launcher({"--nproc-per-node", "2"}, "echo $$ > up.$RANK; while [ ! -e go ]; do sleep 0.02; done", folder);
  const std::string pid = base::trim(await_file(folder + "/up.1"));
  await_file(folder + "/up.0");
  ::kill(std::stoi(pid), SIGSTOP);
  const std::string named = fmt::format("pid {}) is stopped by signal {} (SIGSTOP); kill -CONT {}", pid, SIGSTOP, pid);
  launcher.await_output(named);
  ::kill(std::stoi(pid), SIGCONT);
  launcher.await_output(fmt::format("pid {}) resumed after ", pid));
  base::write_file_atomic(folder + "/go", "");
  EXPECT_EQ(launcher.wait(), 0) << launcher.output();
  const std::string output = launcher.output();
  EXPECT_EQ(output.find(named), output.rfind(named)) << output;
}

TEST(LaunchFaults, APausedLauncherPausesItsRanksAndContinuesThem) {
  const std::string folder = fresh_folder("paused");
  Launcher launcher({"--nproc-per-node", "2"}, "echo $$ > up.$RANK; exec sleep 100", folder);
  launcher.lead_a_group();
  const pid_t rank = std::stoi(await_file(folder + "/up.1"));
  await_file(folder + "/up.0");
  launcher.signal(SIGTSTP);
  launcher.await_output("paused, with its ranks: `fg`, `bg` or kill -CONT ");
  await_stop(rank);
  launcher.signal(SIGCONT);
  launcher.await_output("troika launch: continuing after ");
  launcher.signal(SIGTERM);
  EXPECT_EQ(launcher.wait(), 130);
  EXPECT_THAT(launcher.output(), Not(HasSubstr("is stopped by signal")));
}

TEST(LaunchFaults, WhyHostZeroDidNotStartIsHeardByTheOthersAtOnce) {
  const std::string folder = fresh_folder("refused"), port = std::to_string(free_port());
  Launcher one(host_flags(1, port), "echo up", folder);
  const double before = monotonic_seconds();
  Launcher zero(host_flags(0, port, {"--metrics-port", "9"}), "echo up", folder);
  EXPECT_EQ(zero.wait(), 2);
  EXPECT_EQ(one.wait(), 2);
  EXPECT_LT(monotonic_seconds() - before, 8);
  EXPECT_THAT(one.output(), HasSubstr("troika: host 0 did not start: --metrics-port serves "));
}

TEST(LaunchFaults, WhyHostZeroDidNotStartIsHeardByAHostThatCameBeforeItWasTold) {
  const std::string folder = fresh_folder("refused-later");
  launch::HostOptions hosts;
  hosts.nnodes = 2;
  hosts.node_rank = 0;
  hosts.master_port = free_port();
  const launch::HostStore store = launch::open_host_store(hosts, 1);
  Launcher one(host_flags(1, std::to_string(hosts.master_port)), "echo up", folder);
  base::await(1.5, [] { return false; });
  rendezvous::StoreClient client(store.identity, 5);
  const double before = monotonic_seconds();
  client.set(fmt::format("{}/{}", store.identity.launch, launch::not_started_key),
             rendezvous::to_text(rendezvous::FailureReport{2, base::verbatim("no such thing")}));
  EXPECT_EQ(one.wait(), 2);
  EXPECT_LT(monotonic_seconds() - before, 3);
  EXPECT_THAT(one.output(), HasSubstr("troika: host 0 did not start: no such thing"));
}

TEST(LaunchFaults, WhyAnotherHostDidNotStartIsSaidByHostZeroWhichWaitsForIt) {
  const std::string folder = fresh_folder("refused-other"), port = std::to_string(free_port());
  Launcher zero(host_flags(0, port), "echo up", folder);
  rendezvous::StoreClient client("127.0.0.1", std::stoi(port), 20, {std::nullopt, ""});
  client.get(client.launch() + "/0/host/000000", 20);
  Launcher wrong(host_flags(1, port, {"--metrics-port", "9"}), "echo up", folder);
  EXPECT_EQ(wrong.wait(), 2);
  zero.await_output("host 1 did not start; waiting for it: --metrics-port serves ");
  Launcher right(host_flags(1, port), "echo up", folder);
  EXPECT_EQ(right.wait(), 0);
  EXPECT_EQ(zero.wait(), 0);
}

TEST(LaunchFaults, AnAddressThatDoesNotLeadToHostZeroIsNamedAtOnce) {
  const std::string folder = fresh_folder("own-address"), port = std::to_string(free_port());
  const double before = monotonic_seconds();
  Launcher zero(host_flags(0, port, {"--master-addr", "240.0.0.1"}), "echo up", folder);
  EXPECT_EQ(zero.wait(), 2);
  EXPECT_LT(monotonic_seconds() - before, 5);
  EXPECT_THAT(zero.output(), HasSubstr("host 0 cannot reach itself at 240.0.0.1:" + port));
}

TEST(LaunchFaults, HostsMeetAtAnAddressOfVersionSixInBrackets) {
  const std::string folder = fresh_folder("brackets"), port = std::to_string(free_port());
  const auto flags = [&](int node) {
    return std::vector<std::string>{"--nnodes",      "2",           "--rdzv-endpoint",
                                    "[::1]:" + port, "--node-rank", std::to_string(node)};
  };
  Launcher zero(flags(0), "echo $TROIKA_STORE > store.$RANK", folder), one(flags(1), "echo up", folder);
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(zero.wait(), 0);
  EXPECT_EQ(base::read_file(folder + "/store.0"), "[::1]:" + port + "\n");
}

TEST(LaunchFaults, TheCauseIsNamedNotItsConsequence) {
  const std::string folder = fresh_folder("cause");
  Launcher launcher({"--nproc-per-node", "3"},
                    "echo up > up.$RANK; [ $RANK = 0 ] && exit 75; while [ ! -e up.0 ]; do sleep 0.01; done; "
                    "[ $RANK = 1 ] && { sleep 0.3; exit 70; }; sleep 0.6; exit 75",
                    folder);
  EXPECT_EQ(launcher.wait(), 70);
  EXPECT_THAT(launcher.output(), HasSubstr("rank 1 (host "));
}

TEST(LaunchFaults, NothingIsLeftWhenTheLauncherIsKilled) {
  const std::string folder = fresh_folder("orphans");
  Launcher launcher({"--nproc-per-node", "2"}, "echo $$ > up.$RANK; exec sleep 100", folder);
  const pid_t zero = std::stoi(await_file(folder + "/up.0")), one = std::stoi(await_file(folder + "/up.1"));
  launcher.signal(SIGKILL);
  EXPECT_EQ(launcher.wait(), 1000 + SIGKILL);
  await_end(zero);
  await_end(one);
}

TEST(LaunchFaults, AFailureOnOneHostEndsTheOther) {
  const std::string folder = fresh_folder("remote"), port = std::to_string(free_port());
  const std::vector<std::string> flags = {"--nnodes",      "2",  "--master-addr", "127.0.0.1",
                                          "--master-port", port, "--node-rank"};
  auto zero_flags = flags, one_flags = flags;
  zero_flags.emplace_back("0");
  one_flags.emplace_back("1");
  const std::string script = "echo up > up.$RANK; [ $RANK = 1 ] && exit 70; exec sleep 100";
  Launcher zero(zero_flags, script, folder), one(one_flags, script, folder);
  await_file(folder + "/up.0");
  const double before = monotonic_seconds();
  EXPECT_EQ(one.wait(), 70);
  EXPECT_EQ(zero.wait(), 70);
  EXPECT_LT(monotonic_seconds() - before, 8);
  EXPECT_THAT(zero.output(), HasSubstr("rank 1 (host "));
}

TEST(LaunchFaults, AHostThatNeverComesIsNamed) {
  const std::string folder = fresh_folder("absent"), port = std::to_string(free_port());
  Launcher zero({"--nnodes", "3", "--node-rank", "0", "--master-addr", "127.0.0.1", "--master-port", port,
                 "--join-timeout", "0.5"},
                "echo up", folder);
  EXPECT_EQ(zero.wait(), 75);
  EXPECT_THAT(zero.output(), HasSubstr("host 1, host 2 did not join within 0.5 s"));
  const std::string nobody = std::to_string(free_port());
  Launcher one({"--nnodes", "2", "--node-rank", "1", "--master-addr", "127.0.0.1", "--master-port", nobody,
                "--join-timeout", "0.5"},
               "echo up", folder);
  EXPECT_EQ(one.wait(), 75);
  EXPECT_THAT(one.output(), HasSubstr("host 0 did not answer at 127.0.0.1:" + nobody + " within 0.5 s"));
}

TEST(LaunchFaults, WaitingForHostsCanBeInterrupted) {
  const std::string folder = fresh_folder("impatient"), port = std::to_string(free_port());
  Launcher zero({"--nnodes", "2", "--node-rank", "0", "--master-addr", "127.0.0.1", "--master-port", port}, "echo up",
                folder);
  rendezvous::StoreClient client("127.0.0.1", std::stoi(port), 20, {std::nullopt, ""});
  client.get(client.launch() + "/0/host/000000", 20);
  zero.signal(SIGINT);
  const double before = monotonic_seconds();
  EXPECT_EQ(zero.wait(), 130);
  EXPECT_LT(monotonic_seconds() - before, 2);
}

TEST(LaunchFaults, AHostWithOtherFlagsIsTurnedAwayAndTheOthersWaitForItsReturn) {
  const std::string folder = fresh_folder("flags"), port = std::to_string(free_port());
  Launcher zero(host_flags(0, port), "echo up", folder);
  Launcher wrong(host_flags(1, port, {"--nproc-per-node", "2"}), "echo up", folder);
  EXPECT_EQ(wrong.wait(), 2);
  EXPECT_THAT(wrong.output(), HasSubstr("but host 1 with --nnodes 2 --nproc-per-node 2"));
  Launcher right(host_flags(1, port), "echo up", folder);
  EXPECT_EQ(right.wait(), 0);
  EXPECT_EQ(zero.wait(), 0);
  EXPECT_THAT(zero.output(), HasSubstr("host 1 was started with --nnodes 2 --nproc-per-node 2"));
}

// A rank of two hosts: runs until a file `enough` is there, or ends as one that has heard of a failure when `end` is. Each attempt
// leaves up.RANK.GENERATION with its pid.
constexpr const char* until_enough =
    "echo $$ > up.$RANK.$TROIKA_GENERATION; while [ ! -e enough ]; do [ -e end ] && exit 75; sleep 0.02; done";

TEST(LaunchFaults, AHostThatDiedAndIsStartedAgainJoinsTheNextAttempt) {
  const std::string folder = fresh_folder("replaced"), port = std::to_string(free_port());
  Launcher zero(host_flags(0, port, {"--max-restarts", "2"}), until_enough, folder);
  auto one = std::make_unique<Launcher>(host_flags(1, port, {"--max-restarts", "2"}), until_enough, folder);
  await_file(folder + "/up.0.0");
  await_file(folder + "/up.1.0");
  const double before = monotonic_seconds();
  one->signal(SIGKILL);
  zero.await_output("the launcher of host 1 (host ");
  EXPECT_LT(monotonic_seconds() - before, 1);
  base::write_file_atomic(folder + "/end", "x");
  zero.await_output("restart 1 of 2 in 1 s");
  base::remove_tree(folder + "/end");
  Launcher again(host_flags(1, port, {"--max-restarts", "2"}), until_enough, folder);
  await_file(folder + "/up.0.1");
  await_file(folder + "/up.1.1");
  base::write_file_atomic(folder + "/enough", "x");
  EXPECT_EQ(again.wait(), 0);
  EXPECT_EQ(zero.wait(), 0);
}

TEST(LaunchFaults, ALauncherThatIsStartedAtOnceInPlaceOfOneThatDiedWaitsForTheNextAttempt) {
  const std::string folder = fresh_folder("at-once"), port = std::to_string(free_port());
  Launcher zero(host_flags(0, port, {"--max-restarts", "1"}), until_enough, folder);
  auto one = std::make_unique<Launcher>(host_flags(1, port, {"--max-restarts", "1"}), until_enough, folder);
  await_file(folder + "/up.1.0");
  one->signal(SIGKILL);
  Launcher again(host_flags(1, port, {"--max-restarts", "1"}), until_enough, folder);
  zero.await_output("the launcher of host 1 (host ");
  base::write_file_atomic(folder + "/end", "x");
  zero.await_output("restart 1 of 1 in 1 s");
  base::remove_tree(folder + "/end");
  await_file(folder + "/up.1.1");
  base::write_file_atomic(folder + "/enough", "x");
  EXPECT_EQ(again.wait(), 0);
  EXPECT_EQ(zero.wait(), 0);
}

TEST(LaunchFaults, WhenHostZeroDiesTheOthersSayItWithinASecondAndJoinItsNextLaunch) {
  const std::string folder = fresh_folder("host-zero"), port = std::to_string(free_port());
  auto zero = std::make_unique<Launcher>(host_flags(0, port, {"--max-restarts", "1"}), until_enough, folder);
  Launcher one(host_flags(1, port, {"--max-restarts", "1"}), until_enough, folder);
  await_file(folder + "/up.1.0");
  await_file(folder + "/up.0.0");
  const double before = monotonic_seconds();
  zero->signal(SIGKILL);
  one.await_output("the launcher of host 0 at 127.0.0.1:" + port + " has exited");
  EXPECT_LT(monotonic_seconds() - before, 1);
  EXPECT_EQ(zero->wait(), 1000 + SIGKILL);
  base::write_file_atomic(folder + "/end", "x");
  one.await_output("restart 1 of 1 when host 0 is back");
  base::remove_tree(folder + "/up.1.0");
  base::remove_tree(folder + "/end");
  Launcher again(host_flags(0, port, {"--max-restarts", "1"}), until_enough, folder);
  await_file(folder + "/up.1.0");
  base::write_file_atomic(folder + "/enough", "x");
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(again.wait(), 0);
}

TEST(LaunchFaults, WithoutARestartLeftAllEndWhenAHostDies) {
  const std::string folder = fresh_folder("no-restart"), port = std::to_string(free_port());
  Launcher zero(host_flags(0, port), until_enough, folder), one(host_flags(1, port), until_enough, folder);
  await_file(folder + "/up.0.0");
  await_file(folder + "/up.1.0");
  zero.signal(SIGKILL);
  const double before = monotonic_seconds();
  one.await_output("has exited");
  base::write_file_atomic(folder + "/end", "x");
  EXPECT_EQ(one.wait(), 75);
  EXPECT_LT(monotonic_seconds() - before, 3);
  await_end(std::stoi(base::read_file(folder + "/up.0.0")));
  await_end(std::stoi(base::read_file(folder + "/up.1.0")));
}

TEST(LaunchFaults, ASecondLauncherWithTheSameNumberIsRefusedWhileTheFirstLives) {
  const std::string folder = fresh_folder("same-number"), port = std::to_string(free_port());
  Launcher zero(host_flags(0, port), until_enough, folder), one(host_flags(1, port), until_enough, folder);
  await_file(folder + "/up.1.0");
  Launcher other(host_flags(1, port), until_enough, folder);
  other.await_output("another launcher already has --node-rank 1 (host ");
  other.signal(SIGTERM);
  EXPECT_EQ(other.wait(), 130);
  base::write_file_atomic(folder + "/enough", "x");
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(zero.wait(), 0);
}

TEST(LaunchFaults, TwoLaunchersWithOneNumberAreNamedByHostZeroAndByTheSecondWhenAHostIsMissing) {
  const std::string folder = fresh_folder("one-number"), port = std::to_string(free_port());
  const auto flags = [&](int node) { return host_flags(node, port, {"--nnodes", "3", "--join-timeout", "2"}); };
  Launcher one(flags(1), "echo up", folder), zero(flags(0), "echo up", folder);
  rendezvous::StoreClient client("127.0.0.1", std::stoi(port), 20, {std::nullopt, ""});
  client.get(client.launch() + "/0/host/000001", 20);
  Launcher other(flags(1), "echo up", folder);
  EXPECT_EQ(zero.wait(), 75);
  EXPECT_THAT(zero.output(), HasSubstr("another launcher also has --node-rank 1 (host "));
  EXPECT_THAT(zero.output(), HasSubstr("give each host a different one; host 2 did not join within 2 s"));
  EXPECT_EQ(other.wait(), 2);
  EXPECT_THAT(other.output(), HasSubstr("troika: another launcher already has --node-rank 1 (host "));
  EXPECT_THAT(other.output(), HasSubstr("give each host a different one; then "));
  EXPECT_EQ(one.wait(), 75);
}

TEST(LaunchFaults, ATrainingThatDoesNotFitEndsBeforeARankStarts) {
  const std::string folder = fresh_folder("large");
  const std::vector<std::string> words = {
      "launch", "--nproc-per-node", "2",      "--",          "train", "--model.preset", "qwen3-32b", "--train.device",
      "cpu",    "--data.train",     "corpus", "--train.out", "run"};
  const double before = monotonic_seconds();
  Launcher launcher(words, folder);
  EXPECT_EQ(launcher.wait(), 2);
  EXPECT_LT(monotonic_seconds() - before, 5);
  EXPECT_THAT(launcher.output(), HasSubstr("this rank needs"));
  EXPECT_THAT(launcher.output(), HasSubstr("(2 ranks here)"));
  EXPECT_FALSE(base::file_exists(folder + "/run"));
}

TEST(LaunchFaults, AHostWithoutTheSecretIsRefusedAndHostZeroSaysHowToJoin) {
  const std::string folder = fresh_folder("secret"), port = std::to_string(free_port());
  const std::vector<std::string> flags = {"--nnodes",      "2",  "--master-addr",  "127.0.0.1",
                                          "--master-port", port, "--join-timeout", "5"};
  auto zero_flags = flags, one_flags = flags;
  zero_flags.insert(zero_flags.end(), {"--node-rank", "0"});
  one_flags.insert(one_flags.end(), {"--node-rank", "1"});
  const std::map<std::string, std::string> secret = {{"TROIKA_SECRET", "correct horse battery"}};
  Launcher zero(zero_flags, "echo up", folder, secret), stranger(one_flags, "echo up", folder);
  EXPECT_EQ(stranger.wait(), 2);
  EXPECT_THAT(stranger.output(), HasSubstr("rejects this process: it has a secret: set TROIKA_SECRET"));
  Launcher one(one_flags, "echo up", folder, secret);
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(zero.wait(), 0);
  EXPECT_THAT(zero.output(), HasSubstr("on host 1: TROIKA_SECRET=... troika launch --nnodes 2 "
                                       "--node-rank 1 --nproc-per-node 1 --master-addr 127.0.0.1 --master-port " +
                                       port + " -- -c 'echo up'"));
  EXPECT_THAT(zero.output(), Not(HasSubstr("battery")));
  EXPECT_THAT(zero.output(),
              HasSubstr("a process at 127.0.0.1 tried to join without this launch's secret: give every"));
}

TEST(LaunchFaults, AHostWithAnotherSecretIsNamedWhereItIsMissing) {
  const std::string folder = fresh_folder("secrets"), port = std::to_string(free_port());
  const auto flags = [&](const char* node, const char* join) {
    return std::vector<std::string>{"--nnodes",       "2",  "--master-addr", "127.0.0.1", "--master-port", port,
                                    "--join-timeout", join, "--node-rank",   node};
  };
  Launcher zero(flags("0", "2"), "echo up", folder, {{"TROIKA_SECRET", "correct horse battery"}});
  Launcher stranger(flags("1", "30"), "echo up", folder, {{"TROIKA_SECRET", "another horse battery"}});
  EXPECT_EQ(stranger.wait(), 2);
  EXPECT_NE(zero.wait(), 0);
  EXPECT_THAT(zero.output(),
              AllOf(HasSubstr("a process at 127.0.0.1 tried to join with a secret other than this launch's: give every host the same --secret-file, or TROIKA_SECRET; host 1 did not join"),
                    Not(HasSubstr("another horse"))));
}

TEST(LaunchFaults, ATakenPortIsNamedWithItsHolder) {
  const std::string folder = fresh_folder("taken");
  const rendezvous::StoreServer holder(0);
  Launcher launcher({"--master-port", std::to_string(holder.port())}, "echo up", folder);
  EXPECT_EQ(launcher.wait(), 2);
  EXPECT_THAT(launcher.output(), HasSubstr("port " + std::to_string(holder.port()) + " is held by '"));
}

TEST(LaunchFaults, AProgramThatCannotBeStartedIsAnError) {
  const std::string folder = fresh_folder("program");
  Launcher launcher({"--program", "/no/such/program"}, "echo up", folder);
  EXPECT_EQ(launcher.wait(), 2);
  EXPECT_THAT(launcher.output(), HasSubstr("cannot start '/no/such/program': No such file"));
}

}  // namespace
}  // namespace troika::commands
