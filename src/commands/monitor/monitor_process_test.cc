#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "monitor/made_run_test_support.h"

namespace troika::commands {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double deadline_seconds = 20;

// `troika` with these words under a terminal of its own, or with a pipe in place of it. Destroying it kills it.
class Watcher {
 public:
  enum class Output { terminal, pipe };

  Watcher(const std::vector<std::string>& words, Output output, const std::vector<std::string>& variables = {}) {
    int ends[2] = {-1, -1};
    winsize size{};
    size.ws_col = 90, size.ws_row = 24;
    if (output == Output::pipe && ::pipe2(ends, O_CLOEXEC) != 0) throw base::BugError("no pipe");
    pid_ = output == Output::terminal ? ::forkpty(&screen_, nullptr, nullptr, &size) : ::fork();
    if (pid_ == 0) {
      if (output == Output::pipe) ::dup2(ends[1], STDOUT_FILENO), ::dup2(ends[1], STDERR_FILENO);
      become(words, variables);
    }
    if (output == Output::pipe) screen_ = ends[0], ::close(ends[1]);
  }
  ~Watcher() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
    ::close(screen_);
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Waits until `part` comes in the output that is new since the last call; returns all output so far.
  std::string await(const std::string& part) {
    const double end = base::monotonic_seconds() + deadline_seconds;
    while (seen_.find(part, looked_) == std::string::npos && base::monotonic_seconds() < end && read_some(end)) {
    }
    EXPECT_NE(seen_.find(part, looked_), std::string::npos) << "no '" << part << "' in:\n" << seen_;
    looked_ = seen_.size();
    return seen_;
  }
  // Until the last whole screen has so many lines.
  void await_screen_of(std::ptrdiff_t lines) {
    const double end = base::monotonic_seconds() + deadline_seconds;
    while (lines_of_last_screen() != lines && base::monotonic_seconds() < end && read_some(end)) {
    }
    EXPECT_EQ(lines_of_last_screen(), lines);
  }
  std::string all() {
    const double end = base::monotonic_seconds() + deadline_seconds;
    while (base::monotonic_seconds() < end && read_some(end)) {
    }
    return seen_;
  }
  int exit_code() {
    all();
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  void press(const std::string& keys) const {
    EXPECT_EQ(::write(screen_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void resize(unsigned short width, unsigned short height) const {
    winsize size{};
    size.ws_col = width, size.ws_row = height;
    ::ioctl(screen_, TIOCSWINSZ, &size);
  }
  bool takes_whole_lines() const {  // as a shell needs it
    termios keys{};
    ::tcgetattr(screen_, &keys);
    return (keys.c_lflag & ICANON) != 0 && (keys.c_lflag & ECHO) != 0;
  }
  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] static void become(const std::vector<std::string>& words, const std::vector<std::string>& variables) {
    const std::string program = std::string(TROIKA_BINARY_DIR) + "/troika";
    std::vector<char*> arguments = {const_cast<char*>(program.c_str())}, environment;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    for (const std::string& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    ::execve(program.c_str(), arguments.data(), environment.data());
    ::_exit(127);
  }
  std::ptrdiff_t lines_of_last_screen() const {
    const std::size_t end = seen_.rfind("q quits"), begin = seen_.rfind("\x1b[H", end);
    if (end == std::string::npos || begin == std::string::npos) return 0;
    return 1 + std::count(seen_.begin() + static_cast<std::ptrdiff_t>(begin),
                          seen_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  }
  bool read_some(double end) {
    pollfd polled{screen_, POLLIN, 0};
    if (::poll(&polled, 1, static_cast<int>(std::max(0.0, end - base::monotonic_seconds()) * 1000)) <= 0) return false;
    char bytes[4096];
    const ssize_t count = ::read(screen_, bytes, sizeof bytes);  // an error: the terminal's other end is closed
    if (count <= 0) return false;
    seen_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  pid_t pid_ = -1;
  int screen_ = -1;
  std::string seen_;
  std::size_t looked_ = 0;
};

const std::vector<std::string> in_colour = {"TERM=xterm-256color", "LANG=C.UTF-8"};

class MonitorProcess : public ::testing::Test {
 protected:
  MonitorProcess() {
    run_.state.began = run_.state.since = base::wall_seconds();
    run_.write_state();
    run_.write_steps(1, 40);
    run_.write_samples(10, [&](records::Sample& s) { s.time += run_.state.began - monitor::MadeRun::began; });
  }

  monitor::MadeRun run_{3};
};

TEST_F(MonitorProcess, DrawsAScreenThatFollowsTheTerminalsSizeAndLeavesAtQ) {
  Watcher program({"monitor", run_.path(), "--interval", "0.2"}, Watcher::Output::terminal, in_colour);
  const std::string first = program.await("q quits");
  EXPECT_THAT(first,
              AllOf(HasSubstr("\x1b[?1049h"), HasSubstr("step 40 of 1000"), HasSubstr("\x1b[32mtraining\x1b[0m")));
  EXPECT_FALSE(program.takes_whole_lines());
  run_.write_steps(41, 43);
  program.await("step 43 of 1000");
  program.resize(40, 10);
  program.await_screen_of(10);
  program.press("q");
  EXPECT_EQ(program.exit_code(), 0);
  EXPECT_THAT(program.all(), HasSubstr("\x1b[?1049l"));
}

TEST_F(MonitorProcess, GivesTheTerminalBackWhenASignalEndsIt) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Watcher program({"monitor", run_.path()}, Watcher::Output::terminal, in_colour);
    program.await("q quits");
    EXPECT_FALSE(program.takes_whole_lines());
    ::kill(program.pid(), signal);
    program.await("\x1b[?1049l");
    EXPECT_EQ(program.exit_code(), 0);
  }
  Watcher program({"monitor", run_.path()}, Watcher::Output::terminal, in_colour);
  program.await("q quits");
  program.press("\x03");
  EXPECT_EQ(program.exit_code(), 0);
}

TEST_F(MonitorProcess, NoColorAndAnAsciiLocaleAreHonoured) {
  Watcher program({"monitor", run_.path()}, Watcher::Output::terminal, {"TERM=xterm", "NO_COLOR=1", "LANG=C"});
  const std::string screen = program.await("q quits");
  EXPECT_THAT(screen, AllOf(Not(HasSubstr("\x1b[32m")), Not(HasSubstr("\xe2")), HasSubstr("step 40 of 1000")));
  program.press("q");
  EXPECT_EQ(program.exit_code(), 0);
}

TEST_F(MonitorProcess, WithoutATerminalPrintsLinesAndEndsWithTheRun) {
  Watcher program({"monitor", "--log", run_.path() + "/metrics.jsonl", "--interval", "0.1"}, Watcher::Output::pipe,
                  {"LANG=zh_CN.UTF-8"});
  program.await("训练中  第 40 步，共 1000 步");
  run_.state.life = records::Life::finished;
  run_.write_state();
  EXPECT_EQ(program.exit_code(), 0);
  EXPECT_THAT(program.all(), AllOf(HasSubstr("已完成"), Not(HasSubstr("\x1b"))));
}

TEST_F(MonitorProcess, OnceAsJsonIsOneObject) {
  Watcher program({"monitor", run_.path(), "--once", "--json"}, Watcher::Output::pipe);
  EXPECT_EQ(program.exit_code(), 0);
  const auto json = nlohmann::json::parse(program.all());
  EXPECT_EQ(json["progress"]["step"], 40);
  EXPECT_EQ(json["ranks"].size(), 3u);
}

TEST_F(MonitorProcess, WaitsForARunThatHasNoRecordYet) {
  monitor::MadeRun later;
  Watcher program({"monitor", later.path(), "--interval", "0.1"}, Watcher::Output::pipe);
  program.await("no run records in '" + later.path() + "' yet; waiting for the first");
  later.write_steps(1, 1);
  program.await("state unknown  step 1");
}

TEST_F(MonitorProcess, RefusesAPathThatIsNoRun) {
  Watcher program({"monitor", run_.path() + "s", "--once"}, Watcher::Output::pipe);
  EXPECT_EQ(program.exit_code(), 2);
  EXPECT_THAT(program.all(), HasSubstr("there is no run '" + run_.path() + "s'"));
}

TEST_F(MonitorProcess, OnceRefusesAnEmptyFolderAsWhyDoes) {
  const monitor::MadeRun later;
  for (const char* verb : {"monitor", "why"}) {
    std::vector<std::string> words = {verb, later.path()};
    if (words[0] == "monitor") words.push_back("--once");
    Watcher program(words, Watcher::Output::pipe);
    EXPECT_EQ(program.exit_code(), 2) << verb;
    EXPECT_THAT(program.all(), HasSubstr("'" + later.path() + "' holds no records of a run")) << verb;
  }
}

}  // namespace
}  // namespace troika::commands
