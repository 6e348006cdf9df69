// Ranks that stop or crawl while they live: the one that is behind is named to all, and when it is over.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using base::monotonic_seconds;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

bool comes(double seconds, const std::function<bool()>& ready) {
  const double until = monotonic_seconds() + seconds;
  while (!ready()) {
    if (monotonic_seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Stops the main thread of a process, and no other: as a kernel or a driver does that does not answer.
class StoppedThread {
 public:
  explicit StoppedThread(pid_t process) : thread_(process) {
    EXPECT_EQ(::ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr), 0);
    stop();
  }
  ~StoppedThread() { ::ptrace(PTRACE_DETACH, thread_, nullptr, nullptr); }
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  void stop() {
    EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr), 0);
    EXPECT_EQ(::waitpid(thread_, nullptr, __WALL), thread_);
  }
  void resume() { EXPECT_EQ(::ptrace(PTRACE_CONT, thread_, nullptr, nullptr), 0); }

 private:
  const pid_t thread_;
};

class Stalls : public testing::Test {
 protected:
  Words train(const Words& more) const {
    return small_run(corpus_, out_) +
           Words{"--log.progress", "none", "--checkpoint.every-minutes", "0", "--steps", "100000"} + more;
  }
  std::string log_of(int rank) const {
    return base::read_file(out_ + "/logs/rank-0000" + std::to_string(rank) + ".log");
  }
  bool all_logs_say(const std::string& text) const {
    bool all = true;
    for (int rank = 0; rank < 3; ++rank) all = all && log_of(rank).find(text) != std::string::npos;
    return all;
  }
  // The rank's answer to SIGUSR1, the first line.
  std::string answer_of(int rank, pid_t process) const {
    const std::size_t before = log_of(rank).size();
    ::kill(process, SIGUSR1);
    EXPECT_TRUE(comes(patience_seconds, [&] { return log_of(rank).find(" is at ", before) != std::string::npos; }));
    const std::string log = log_of(rank);
    const std::size_t at = log.find(" is at ", before);
    return log.substr(at, log.find('\n', at) - at);
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_), out_ = folder_ / "run";
};

// Stopped where it computes: while it waits for a message, it holds up nobody.
std::unique_ptr<StoppedThread> stop_in_computing(pid_t process, const std::function<std::string()>& answer) {
  auto stopped = std::make_unique<StoppedThread>(process);
  for (int tries = 0; answer().find("waiting for") != std::string::npos; ++tries) {
    EXPECT_LT(tries, 200);
    stopped->resume();
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + tries % 7));
    stopped->stop();
  }
  return stopped;
}

TEST_F(Stalls, ARankWhoseWorkBlocksIsNamedToAllWithinTenSecondsAndHungAfterItsLimit) {
  Program program(launch(3, train({"--pp", "3", "--comm.timeout-seconds", "9"})));
  await_step(out_, 7);
  const pid_t blocked = program.rank(2);
  auto stopped = stop_in_computing(blocked, [&] { return answer_of(2, blocked); });
  const double since = monotonic_seconds();
  EXPECT_TRUE(comes(10, [&] { return all_logs_say("rank 2 (host "); }));
  const double named = monotonic_seconds();
  std::printf("named after %.1f s\n", named - since);
  EXPECT_THAT(log_of(0),
              ContainsRegex("rank 2 .host .* is behind: step [0-9]*, .* for [5-9].* .usually .*; 2 ranks wait for it"));
  EXPECT_THAT(program.output(), HasSubstr(" is behind: step "));
  program.signal(SIGUSR1);  // the launcher passes it on
  program.await_output("rank 0 is at step ");
  EXPECT_THAT(program.output(), AllOf(HasSubstr("last heartbeat: rank 2 (host "), HasSubstr("last operations of rank 0:")));
  EXPECT_TRUE(comes(20, [&] { return log_of(0).find("is the limit") != std::string::npos; }));
  stopped.reset();  // who traces a process keeps its parent from seeing its end
  const End end = program.wait();
  EXPECT_EQ(end.code, 75);
  EXPECT_LT(end.when - since, 9 + 10);
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("troika launch: rank 2 (host "), HasSubstr("comm.timeout_seconds (9) is the limit")));
}

// Runs a third of the time.
class Crawl {
 public:
  explicit Crawl(pid_t process) : process_(process), thread_([this] { run(); }) {}
  ~Crawl() {
    ended_ = true;
    thread_.join();
    ::kill(process_, SIGCONT);
  }
  Crawl(const Crawl&) = delete;
  Crawl& operator=(const Crawl&) = delete;

 private:
  void run() const {
    while (!ended_) {
      ::kill(process_, SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ::kill(process_, SIGCONT);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  const pid_t process_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

class FullStalls : public Stalls {};

TEST_F(FullStalls, WhatContinuesIsSaidAndTheRunContinues) {
  Program program(launch(3, train({"--pp", "3"})));
  await_step(out_, 7);
  {
    const StoppedThread stopped(program.rank(2));
    EXPECT_TRUE(comes(10, [&] { return all_logs_say(" is behind: step "); }));
  }
  EXPECT_TRUE(comes(10, [&] { return all_logs_say(" resumed after "); }));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 130);
}

TEST_F(FullStalls, AHostThatComputesThreeTimesSlowerIsNamedWithTheRatioAndMayBe) {
  Program program(launch(3, train({"--dp", "3", "--model.hidden", "128", "--comm.timeout-seconds", "3"})));
  await_step(out_, 7);
  const double since = monotonic_seconds();
  auto crawl = std::make_unique<Crawl>(program.rank(2));
  EXPECT_TRUE(comes(90, [&] { return all_logs_say("x slower than its peers (rank 2: "); }));
  std::printf("named after %.0f s: %s\n", monotonic_seconds() - since, program.output().c_str());
  EXPECT_THAT(program.output(), ContainsRegex("is [2-4]\\.[0-9]x slower than its peers"));
  crawl.reset();
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 130);
}

}  // namespace
}  // namespace troika::commands
