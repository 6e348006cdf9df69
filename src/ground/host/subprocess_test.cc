#include "host/subprocess.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "host/process.h"

namespace troika::host {
namespace {
using ::testing::HasSubstr;
using Group = Command::Group;

const std::map<std::string, std::string> system_path = {{"PATH", "/usr/bin:/bin"}};
constexpr double test_seconds = 20;

// Its output goes to a pipe.
Command shell(const std::string& script) {
  Command command{{"sh", "-c", script}, system_path};
  command.output = Stream::pipe();
  return command;
}

std::string said_by(Subprocess& program) {
  return base::read_to_end(program.output(), test_seconds, 1 << 20).value_or("(no end of its output)");
}
std::string said_by(const Command& command) {
  Subprocess program(command);
  const std::string said = said_by(program);
  EXPECT_TRUE(program.wait().well());
  return said;
}

int cause_of(const Command& command) {
  try {
    const Subprocess program(command);
  } catch (const StartError& error) {
    return error.cause();
  }
  return 0;
}

bool comes(const std::function<bool()>& ready) {
  for (const double until = base::monotonic_seconds() + test_seconds; base::monotonic_seconds() < until; ::usleep(2000))
    if (ready()) return true;
  return false;
}

std::int64_t number_in(const std::string& text) {
  std::int64_t number = -1;
  base::parse_int(base::trim(text), &number);
  return number;
}

// A line of a program whose output is not at its end.
std::string line_of(Subprocess& program) {
  std::string line;
  for (char one = 0; ::read(program.output().number(), &one, 1) == 1 && one != '\n';) line.push_back(one);
  return line;
}

bool runs(std::int64_t pid) { return process_start(pid) != 0; }  // a zombie does not

TEST(Subprocess, EndsWithItsCodeOrItsSignal) {
  Subprocess well(shell("exit 0")), badly(shell("exit 3")), killed(shell("kill -9 $$"));
  EXPECT_TRUE(well.wait().well());
  EXPECT_EQ(badly.wait().exit_code, 3);
  EXPECT_EQ(badly.wait().code(), 3);  // again
  const End end = killed.wait();
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.code(), 128 + SIGKILL);
  EXPECT_FALSE(end.well());
}

TEST(Subprocess, ThatCannotBeStartedSaysWhyInBothLanguages) {
  for (const std::string name : {"/nowhere/program", "no-such-program-anywhere"}) {
    try {
      const Subprocess program(Command{{name}, system_path});
      FAIL() << name;
    } catch (const StartError& error) {
      EXPECT_EQ(error.cause(), ENOENT);
      EXPECT_EQ(error.what(), "cannot start '" + name + "': No such file or directory");
      EXPECT_EQ(error.in(base::Language::chinese), "无法启动“" + name + "”：没有这个文件或目录");
    }
  }
  EXPECT_EQ(cause_of({{"/etc/passwd"}, {}}), EACCES);
  const base::TemporaryFolder folder;
  base::write_file_atomic(folder.path() + "/empty", "");
  ASSERT_EQ(::chmod((folder.path() + "/empty").c_str(), 0700), 0);
  EXPECT_EQ(cause_of({{folder.path() + "/empty"}, {}}), ENOEXEC);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(Subprocess, AFolderThatIsNotThereIsNamed) {
  Command command = shell("pwd");
  command.folder = "/nowhere/at/all";
  try {
    const Subprocess program(command);
    FAIL();
  } catch (const StartError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot start 'sh' in the folder '/nowhere/at/all': No such file"));
  }
  command.folder = "/usr";
  EXPECT_EQ(said_by(command), "/usr\n");
}

TEST(Subprocess, HasTheEnvironmentItIsGivenAndNoOther) {
  EXPECT_EQ(said_by({{"/usr/bin/env"}, {{"A", "1"}, {"B", "two words"}}, {}, {}, {}, Stream::pipe()}),
            "A=1\nB=two words\n");
}

TEST(Subprocess, MayHaveAnotherNameThanItsFile) {
  Command command = shell("echo $0");
  command.words = {"named", "-c", "echo $0"};
  command.file = "/bin/sh";
  EXPECT_EQ(said_by(command), "named\n");
}

TEST(Subprocess, HearsAndSaysOverPipes) {
  Command command = shell("read line; echo \"heard $line\"; cat; echo complaint >&2");
  command.input = command.errors = Stream::pipe();
  Subprocess program(command);
  ASSERT_EQ(::write(program.input().number(), "one\ntwo\n", 8), 8);
  program.input().close();
  EXPECT_EQ(said_by(program), "heard one\ntwo\n");
  EXPECT_EQ(base::read_to_end(program.errors(), test_seconds, 100), "complaint\n");
  EXPECT_TRUE(program.wait().well());
}

TEST(Subprocess, ReadsAndWritesOpenFiles) {
  const base::TemporaryFolder folder;
  base::write_file_atomic(folder.path() + "/in", "from a file\n");
  const base::Descriptor in(::open((folder.path() + "/in").c_str(), O_RDONLY | O_CLOEXEC)),
      out(::open((folder.path() + "/out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Command command = shell("cat; echo complaint >&2");
  command.input = Stream::to(in);
  command.output = command.errors = Stream::to(out);
  EXPECT_TRUE(Subprocess(command).wait().well());
  EXPECT_EQ(base::read_file(folder.path() + "/out"), "from a file\ncomplaint\n");
}

TEST(Subprocess, StreamsAreRightWhereThisProcessHasNone) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
    Command command = shell("cat; echo said; echo complaint >&2");
    command.input = command.errors = Stream::pipe();
    Subprocess program(command);
    const bool told = ::write(program.input().number(), "told\n", 5) == 5;
    program.input().close();
    ::_exit(told && said_by(program) == "told\nsaid\n" ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Subprocess, BeginsWithNoSignalOfThisProcess) {
  ::signal(SIGUSR2, SIG_IGN);
  ::signal(SIGALRM, [](int) {});
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  for (const int signal : {SIGTERM, SIGRTMIN}) ::sigaddset(&blocked, signal);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  Command command = shell("");
  command.words = {"cat", "/proc/self/status"};
  const std::string fresh = said_by(command);
  command.signals = blocked_alone({SIGUSR1});
  const std::string one_blocked = said_by(command);
  command.signals = signals_of_this_thread();
  const std::string as_here = said_by(command);
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  ::signal(SIGUSR2, SIG_DFL);
  ::signal(SIGALRM, SIG_DFL);
  const std::string none = "0000000000000000";
  EXPECT_THAT(fresh, HasSubstr("SigBlk:\t" + none + "\nSigIgn:\t" + none + "\nSigCgt:\t" + none));
  EXPECT_THAT(one_blocked, HasSubstr("SigBlk:\t0000000000000200\nSigIgn:\t" + none));
  EXPECT_THAT(as_here, HasSubstr("SigBlk:\t0000000200004000\nSigIgn:\t0000000000000800\nSigCgt:\t" + none));
  EXPECT_EQ(::sigismember(&after, SIGTERM), 1) << "the mask of this thread was changed";
  EXPECT_EQ(::sigismember(&after, SIGINT), 0) << "the mask of this thread was changed";
}

TEST(Subprocess, LeadsAGroupOrASessionWhereItIsAskedTo) {
  const std::string ids = "cut -d' ' -f5,6 /proc/$$/stat; echo $$";
  const auto ids_in = [&](Group group) {
    Command command = shell(ids);
    command.group = group;
    std::vector<std::int64_t> numbers;
    for (const std::string& line : base::split(base::trim(said_by(command)), '\n'))
      for (const std::string& word : base::split(line, ' ')) numbers.push_back(number_in(word));
    return numbers;  // its group, its session, itself
  };
  const auto here = ids_in(Group::as_here), own = ids_in(Group::own), session = ids_in(Group::session);
  EXPECT_EQ(here.at(0), ::getpgrp());
  EXPECT_EQ(here.at(1), ::getsid(0));
  EXPECT_EQ(own.at(0), own.at(2));
  EXPECT_EQ(own.at(1), ::getsid(0));
  EXPECT_EQ(session.at(0), session.at(2));
  EXPECT_EQ(session.at(1), session.at(2));
}

TEST(Subprocess, ItsGroupIsKilledWithIt) {
  Command command = shell("sleep 100 & echo $!; wait");
  command.group = Group::own;
  Subprocess program(command);
  const std::int64_t other = number_in(line_of(program));
  ASSERT_TRUE(runs(other));
  program.send(SIGKILL);
  EXPECT_EQ(program.wait().signal, SIGKILL);
  EXPECT_TRUE(comes([&] { return !runs(other); }));
}

TEST(Subprocess, WhatItHasLeftInItsGroupIsReachedUntilItIsWaitedFor) {
  Command command = shell("sleep 100 > /dev/null & echo $!");
  command.group = Group::own;
  Subprocess program(command);
  const std::int64_t other = number_in(said_by(program));
  ASSERT_TRUE(program.ends_within(test_seconds));
  ASSERT_TRUE(runs(other));
  program.send(SIGKILL);
  EXPECT_TRUE(program.wait().well());
  EXPECT_TRUE(comes([&] { return !runs(other); }));
  program.send(SIGKILL);  // to nobody
}

TEST(Subprocess, IsWaitedForUntilADeadline) {
  Subprocess program(shell("exec sleep 100"));
  const double began = base::monotonic_seconds();
  EXPECT_FALSE(program.ends_within(0));
  EXPECT_FALSE(program.ends_within(0.1));
  EXPECT_GE(base::monotonic_seconds() - began, 0.1);
  program.send(SIGTERM);
  EXPECT_TRUE(program.ends_within(test_seconds));
  EXPECT_EQ(program.wait().signal, SIGTERM);
  EXPECT_LT(base::monotonic_seconds() - began, test_seconds);
}

TEST(Subprocess, IsKilledWhenNobodyHoldsItAnyMore) {
  std::int64_t pid = 0;
  {
    Subprocess first(shell("trap '' TERM; exec sleep 100")), second(std::move(first));
    pid = second.pid();
    EXPECT_TRUE(runs(pid));
  }
  EXPECT_FALSE(runs(pid));
  EXPECT_EQ(::waitpid(static_cast<pid_t>(pid), nullptr, WNOHANG), -1);  // collected
}

TEST(Subprocess, ThatIsLeftGoesOn) {
  pid_t pid = 0;
  {
    Subprocess program(shell("exec sleep 100"));
    pid = program.pid();
    program.leave();
  }
  EXPECT_TRUE(runs(pid));
  ::kill(pid, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

TEST(Subprocess, FilesOfThisProcessDoNotReachIt) {
  const base::Descriptor closes(::open("/dev/null", O_RDONLY | O_CLOEXEC)), stays(::open("/dev/null", O_RDONLY));
  Subprocess other(shell("exec sleep 100"));
  const auto has = [](const base::Descriptor& file, Command::Files files) {
    Command command = shell("[ -e /proc/$$/fd/" + std::to_string(file.number()) + " ] && echo open || echo closed");
    command.other_files = files;
    return said_by(command);
  };
  EXPECT_EQ(has(closes, Command::Files::as_opened), "closed\n");
  EXPECT_EQ(has(other.output(), Command::Files::as_opened), "closed\n");
  EXPECT_EQ(has(stays, Command::Files::as_opened), "open\n");
  EXPECT_EQ(has(stays, Command::Files::closed), "closed\n");
}

TEST(Subprocess, RunsOnTheCoresItIsGiven) {
  cpu_set_t here;
  ASSERT_EQ(::sched_getaffinity(0, sizeof here, &here), 0);
  int last = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &here)) last = core;
  Command command = shell("grep Cpus_allowed_list /proc/self/status");
  command.cores = {last};
  EXPECT_EQ(said_by(command), "Cpus_allowed_list:\t" + std::to_string(last) + "\n");
}

TEST(Subprocess, EndsWithThisProcessWhereItIsAskedTo) {
  for (const bool asked : {true, false}) {
    base::Pipe numbers = base::make_pipe();
    const pid_t starter = ::fork();
    if (starter == 0) {
      Command command{{"sleep", "100"}, system_path};
      if (asked) command.signal_at_our_end = SIGKILL;
      const Subprocess program(command);
      const pid_t pid = program.pid();
      [[maybe_unused]] const ssize_t told = ::write(numbers.writes.number(), &pid, sizeof pid);
      for (;;) ::pause();
    }
    pid_t pid = 0;
    ASSERT_EQ(::read(numbers.reads.number(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    EXPECT_TRUE(runs(pid));
    ::kill(starter, SIGKILL);
    ::waitpid(starter, nullptr, 0);
    if (asked) {
      EXPECT_TRUE(comes([&] { return !runs(pid); }));
    } else {
      EXPECT_TRUE(runs(pid));
      ::kill(pid, SIGKILL);
    }
  }
}

TEST(Subprocess, ManyThreadsStartProgramsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> said(8);
  for (std::size_t i = 0; i < said.size(); ++i)
    threads.emplace_back([&said, i] {
      for (int again = 0; again < 10; ++again) said[i] += said_by(shell("echo " + std::to_string(i)));
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < said.size(); ++i) EXPECT_EQ(said[i].size(), 20u) << said[i];
}

TEST(FindProgram, LooksIntoTheFoldersOfPathInTheirOrder) {
  const base::TemporaryFolder folder;
  base::make_directories(folder.path() + "/a/tool");  // a folder is no program
  base::make_directories(folder.path() + "/b");
  base::make_directories(folder.path() + "/c");
  base::write_file_atomic(folder.path() + "/b/tool", "");  // nobody may run it
  base::write_file_atomic(folder.path() + "/c/tool", "");
  ASSERT_EQ(::chmod((folder.path() + "/b/tool").c_str(), 0600), 0);
  ASSERT_EQ(::chmod((folder.path() + "/c/tool").c_str(), 0700), 0);
  const std::string in = folder.path();
  EXPECT_EQ(find_program("tool", {{"PATH", ":" + in + "/a:" + in + "/b:" + in + "/c"}}), in + "/c/tool");
  EXPECT_EQ(find_program("tool", {{"PATH", in + "/b"}}), "");
  EXPECT_EQ(find_program("./tool", {}), "./tool");
  EXPECT_NE(find_program("sh", {}), "");
}

TEST(OutputOf, IsWhatAProgramSaysUnlessItFailsOrTakesTooLong) {
  const auto of = [](const std::string& script, double seconds) {
    return output_of({"sh", "-c", script}, system_path, seconds);
  };
  EXPECT_EQ(of("echo throttled=0x0", 5), "throttled=0x0\n");
  EXPECT_EQ(of("echo no; exit 1", 5), "");
  EXPECT_EQ(output_of({"there-is-no-such-program"}, system_path, 5), "");
  EXPECT_EQ(of("head -c 70000 /dev/zero", 5), "");
  EXPECT_EQ(of("head -c 65536 /dev/zero", 5).size(), 65536u);
  const double begin = base::monotonic_seconds();
  EXPECT_EQ(output_of({"sleep", "10"}, system_path, 0.1), "");
  EXPECT_EQ(of("exec > /dev/null; exec sleep 10", 0.1), "");  // its output ends before it does
  EXPECT_LT(base::monotonic_seconds() - begin, 5);
}

}  // namespace
}  // namespace troika::host
