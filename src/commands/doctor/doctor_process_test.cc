// `troika doctor` as a user starts it, with a stand-in for ssh that runs the other hosts' doctors on this machine.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "commands/launch/launch_test_support.h"
#include "host/subprocess.h"

namespace troika::commands {
namespace {
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using DoctorWords = std::vector<std::string>;

struct DoctorEnd {
  int code = -1;
  double seconds = 0;
  std::string output, errors;
  json findings() const { return json::parse(output); }
  // "host check" of those with this status.
  std::set<std::string> with(const std::string& status) const {
    std::set<std::string> some;
    for (const json& one : findings())
      if (one["status"] == status) some.insert(one["host"].get<std::string>() + " " + one["check"].get<std::string>());
    return some;
  }
};

// A started `troika` in a folder of its own.
class DoctorProcess {
 public:
  DoctorProcess(const std::string& folder, const DoctorWords& words,
                const std::map<std::string, std::string>& environment = {})
      : output_(folder + "/output"),
        errors_(folder + "/errors"),
        began_(base::monotonic_seconds()),
        process_(started(folder, words, environment)) {}

  DoctorEnd wait() {
    const bool ended = process_.ends_within(90);
    EXPECT_TRUE(ended);
    const double seconds = base::monotonic_seconds() - began_;
    const host::End end = ended ? process_.wait() : host::End{-1, 0};
    return {end.signal != 0 ? 1000 + end.signal : end.exit_code, seconds, base::read_file(output_),
            base::read_file(errors_)};
  }
  pid_t pid() const { return process_.pid(); }

 private:
  host::Subprocess started(const std::string& folder, const DoctorWords& words,
                           const std::map<std::string, std::string>& environment) const {
    const int how = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    const base::Descriptor output(::open(output_.c_str(), how, 0600)), errors(::open(errors_.c_str(), how, 0600));
    host::Command command{{TROIKA_BINARY_DIR "/troika"}, {{"PATH", folder + "/bin:" + ::getenv("PATH")}}};
    command.words.insert(command.words.end(), words.begin(), words.end());
    command.environment.insert(environment.begin(), environment.end());
    command.folder = folder;
    command.input = host::Stream::nothing();
    command.output = host::Stream::to(output);
    command.errors = host::Stream::to(errors);
    return host::Subprocess(command);
  }
  const std::string output_, errors_;
  const double began_;
  host::Subprocess process_;
};

// A folder with the stand-in in bin/. Hosts by name: "silent" is stopped before it says a word, "dying" ends with a complaint, "frozen"
// is stopped once it has said where it is; others run the doctor.
class DoctorFolder {
 public:
  DoctorFolder() {
    base::make_directories(path() + "/bin");
    base::write_file_atomic(path() + "/bin/ssh", R"(#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac do shift 2; done
host=$1
shift
case $host in
  silent) kill -STOP $$ ;;
  dying) echo "ssh: connect to host dying port 22: No route to host" >&2; exit 255 ;;
  frozen)
    exec 3<&0
    mkfifo "frozen.$$"
    sh -c "exec $*" <&3 > "frozen.$$" &
    doctor=$!
    (sleep 10; kill -KILL $doctor) < /dev/null > /dev/null 2>&1 &
    { IFS= read -r line; printf '%s\n' "$line"; kill -STOP $doctor; exec sleep 60; } < "frozen.$$" ;;
  *) exec sh -c "$*" ;;
esac
)");
    ::chmod((path() + "/bin/ssh").c_str(), 0700);
  }
  const std::string& path() const { return folder_.path(); }

  DoctorEnd look_at(const std::string& hosts, const DoctorWords& more) const {
    base::write_file_atomic(path() + "/hosts", hosts);
    DoctorWords words = {"doctor", "--hosts", "hosts",         "--json",
                         "--lang", "en",      "--master-port", std::to_string(free_port())};
    words.insert(words.end(), more.begin(), more.end());
    return DoctorProcess(path(), words).wait();
  }

 private:
  const base::TemporaryFolder folder_;
};

TEST(DoctorProgram, LooksAtThisHostWithoutAnAlarm) {
  const std::string folder = TROIKA_BINARY_DIR;  // on a disk: of files in memory it warns
  const DoctorEnd end = DoctorProcess(folder, {"doctor", "--quick", "--json"}).wait();
  ASSERT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_THAT(end.with("warn"), IsEmpty()) << end.output;
  EXPECT_GT(end.findings().size(), 20u);
  EXPECT_LT(end.seconds, 5);  // as busy as the machine may be
  const DoctorEnd text = DoctorProcess(folder, {"doctor", "--quick", "--lang", "zh"}).wait();
  EXPECT_THAT(text.output, HasSubstr("检查了 1 台主机"));
}

TEST(DoctorProgram, HasTwoHostsMeasureTheWayBetweenThem) {
  const DoctorFolder folder;
  const DoctorEnd end = folder.look_at("pi1 # the first\nme@pi2:2222\n", {"--quick"});
  ASSERT_EQ(end.code, 0) << end.output << end.errors;
  const std::set<std::string> well = end.with("ok");
  for (const char* check :
       {"pi1, pi2 ports", "pi1, pi2 mtu", "pi1, pi2 clock", "pi1, pi2 versions", "pi1 limits", "pi2 limits"})
    EXPECT_EQ(well.count(check), 1u) << check << "\n" << end.output;
}

TEST(FullDoctorProgram, NamesASilentHostAndOneThatEndsAndGoesOnWithTheOthers) {
  const DoctorFolder folder;
  const DoctorEnd end = folder.look_at("pi1\nsilent\ndying\npi2\n", {"--quick", "--wait", "2"});
  EXPECT_EQ(end.code, 75) << end.output << end.errors;
  EXPECT_EQ(end.with("fail"), (std::set<std::string>{"silent answer", "dying answer"})) << end.output;
  EXPECT_THAT(end.output, HasSubstr("its doctor ended: ssh: connect to host dying port 22: No route to host"));
  EXPECT_THAT(end.output, HasSubstr("no reply within 2.0 s"));
  EXPECT_EQ(end.with("ok").count("pi1, pi2 ports"), 1u) << end.output;
  EXPECT_LT(end.seconds, 8);
}

TEST(FullDoctorProgram, IsNotHeldUpByAHostThatFreezesAfterItsFirstWord) {
  const DoctorFolder folder;
  const DoctorEnd end = folder.look_at("pi1\nfrozen\n", {"--quick", "--wait", "2"});
  EXPECT_EQ(end.code, 75) << end.output << end.errors;
  EXPECT_EQ(end.with("fail"), (std::set<std::string>{"frozen answer"})) << end.output;
  EXPECT_LT(end.seconds, 8);
}

TEST(DoctorProgram, RefusesAHostsFileWithTypos) {
  const DoctorFolder folder;
  const DoctorEnd end = folder.look_at("pi1\npi2 slots=4\n", {});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.errors, HasSubstr("hosts line 2: 'pi2 slots=4'"));
  EXPECT_EQ(DoctorProcess(folder.path(), {"doctor", "--hosts", "./nowhere"}).wait().code, 3);
}

std::map<std::string, std::string> variables_of_rank(int rank, int port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", "2"},
          {"LOCAL_RANK", "0"},
          {"LOCAL_WORLD_SIZE", "1"},
          {"GROUP_RANK", std::to_string(rank)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)}};
}

TEST(DoctorProgram, UnderALaunchMeetsAtTheStore) {
  const DoctorFolder folder, other;
  const std::string port = std::to_string(free_port());
  const auto words = [&](const char* node) {
    return DoctorWords{"launch",    "--nnodes",      "2",     "--node-rank",      node, "--master-addr",
                       "127.0.0.1", "--master-port", port,    "--nproc-per-node", "2",  "--",
                       "doctor",    "--quick",       "--json"};
  };
  DoctorProcess second(other.path(), words("1")), first(folder.path(), words("0"));
  const DoctorEnd end = first.wait(), of_second = second.wait();
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_EQ(of_second.code, 0) << of_second.errors;
  EXPECT_EQ(of_second.output, "");
  std::set<std::string> hosts;
  for (const json& one : end.findings()) hosts.insert(one["host"]);
  EXPECT_EQ(hosts.size(), 3u) << end.output;  // two hosts, and both together
  EXPECT_THAT(base::list_directory(folder.path()), testing::Not(testing::Contains("logs")));
}

TEST(FullDoctorProgram, UnderALaunchTellsOfTheOthersThoughOneEndedAtOnce) {
  const DoctorFolder folder, other;
  const std::string port = std::to_string(free_port());
  const DoctorWords hosts = {"launch", "--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", port};
  DoctorWords first = hosts, second = hosts;
  first.insert(first.end(), {"--node-rank", "0", "--", "doctor", "--quick", "--json", "--wait", "2"});
  second.insert(second.end(), {"--node-rank", "1", "--program", "/bin/false", "--", "doctor"});
  DoctorProcess ending(other.path(), second), process(folder.path(), first);
  const DoctorEnd end = process.wait();
  ending.wait();
  EXPECT_NE(end.code, 0);
  EXPECT_EQ(end.with("fail"), (std::set<std::string>{"host 1 answer"})) << end.output << end.errors;
}

TEST(DoctorProgram, HostsTheStoreItselfUnderTorchrun) {
  const DoctorFolder folder, other;
  const int port = free_port();
  DoctorProcess second(other.path(), {"doctor", "--quick"}, variables_of_rank(1, port));
  DoctorProcess first(folder.path(), {"doctor", "--quick", "--json"}, variables_of_rank(0, port));
  const DoctorEnd end = first.wait();
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_EQ(second.wait().code, 0);
}

TEST(FullDoctorProgram, NamesARankThatIsStoppedOrNeverCame) {
  const DoctorFolder folder;
  const DoctorEnd end =
      DoctorProcess(folder.path(), {"doctor", "--quick", "--json", "--wait", "1.5"}, variables_of_rank(0, free_port()))
          .wait();
  EXPECT_EQ(end.code, 75) << end.output << end.errors;
  EXPECT_EQ(end.with("fail"), (std::set<std::string>{"host 1 answer"}));
}

// Takes as long as the measurements of a host.
TEST(FullDoctorProgram, MeasuresTwoHostsWithinAMinute) {
  const DoctorFolder folder;
  const DoctorEnd end = folder.look_at("pi1\npi2\n", {"--out", folder.path()});
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_LT(end.seconds, 60);
  EXPECT_EQ(end.with("ok").count("pi1 memory_bandwidth"), 1u);
}

}  // namespace
}  // namespace troika::commands
