#include "commands/sweep/one_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "commands/cli.h"
#include "host/worker.h"
#include "rendezvous/failure_report.h"

namespace troika::commands {
namespace {

constexpr double again_seconds = 3, kill_seconds = 6;  // after the first SIGTERM
constexpr double orphans_seconds = 10;                 // then what the kernel keeps is left to it
constexpr int moment_milliseconds = 100;

// While it lives, processes whose parents have ended become children of this one instead of init's.
class Orphanage {
 public:
  Orphanage() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Orphanage() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  Orphanage(const Orphanage&) = delete;
  Orphanage& operator=(const Orphanage&) = delete;

  // Kills children, and their children, which become ours then, until none is left.
  void close() const {
    const double until = base::monotonic_seconds() + orphans_seconds;
    while (any_left() && base::monotonic_seconds() < until) {
      for (const pid_t child : children()) ::kill(child, SIGKILL);
      ::usleep(5000);
    }
  }

 private:
  static bool any_left() {
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) continue;
    return ended == 0;
  }

  static std::vector<pid_t> children() {
    std::vector<pid_t> found;
    const std::string mine = std::to_string(::getpid());
    for (const std::string& name : base::list_directory("/proc")) {
      std::int64_t pid = 0;
      if (base::parse_int(name, &pid) && parent_of(name) == mine) found.push_back(static_cast<pid_t>(pid));
    }
    return found;
  }

  // "PID (NAME) STATE PARENT ...", where NAME may hold anything. "" when the process is gone.
  static std::string parent_of(const std::string& pid) {
    try {
      const std::string stat = base::read_file("/proc/" + pid + "/stat");
      const std::vector<std::string> words = base::split(stat.substr(std::min(stat.rfind(')'), stat.size())), ' ');
      return words.size() > 2 ? words[2] : "";
    } catch (const base::DataError&) {
      return "";
    }
  }
};

// A worker that is being ended, more firmly with time.
class Ender {
 public:
  explicit Ender(const host::Worker& worker) : worker_(worker) {}

  bool begun() const { return since_ > 0; }
  void begin() {
    since_ = base::monotonic_seconds();
    host::signal_worker(worker_, SIGTERM);
  }
  void go_on() {
    if (!begun()) return;
    const double passed = base::monotonic_seconds() - since_;
    if (passed > kill_seconds) host::signal_worker(worker_, SIGKILL);
    if (passed > again_seconds && !std::exchange(again_, true)) host::signal_worker(worker_, SIGTERM);
  }

 private:
  const host::Worker& worker_;
  double since_ = 0;
  bool again_ = false;
};

std::string shortened(const std::string& text) {
  constexpr std::size_t most = 400;
  if (text.size() <= most) return text;
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // whole characters
  return text.substr(0, end) + "...";
}

// The last line of the log of a rank that its launcher has seen end, without a word of its own; "": there is none.
std::string last_line_of(const records::Incident& failure, const OneRun& run) {
  using records::IncidentKind;
  if (failure.kind != IncidentKind::rank_exited && failure.kind != IncidentKind::rank_killed) return "";
  const std::string log = fmt::format("{}/rank-{:05}.log", run.logs_folder, failure.who.rank);
  return base::file_exists(log) ? base::trim(host::last_lines(log, 0, 1)) : "";
}

}  // namespace

OneRunEnd run_one(const OneRun& run, host::Signals& signals, const std::function<RunGoes(double)>& each_moment) {
  const Orphanage orphanage;
  const double began = base::monotonic_seconds();
  OneRunEnd end;
  std::map<std::string, std::string> environment = run.environment;
  environment[failure_file_variable] = run.failure_file;
  base::remove_tree(run.failure_file);
  host::Worker worker = host::start_worker({0, run.program, run.arguments, environment, run.log_path, {}});
  Ender ender(worker);
  const auto begin_to_end = [&](OneRunEnd::Cause cause) {
    end.cause = cause;
    ender.begin();
  };
  while (!host::reap(worker)) {
    const int signal = signals.wait(moment_milliseconds);
    end.seconds = base::monotonic_seconds() - began;
    if (!ender.begun() && host::asks_to_stop(signal)) begin_to_end(OneRunEnd::Cause::stop_signal);
    if (!ender.begun() && end.seconds > run.deadline_seconds) begin_to_end(OneRunEnd::Cause::deadline);
    if (each_moment(end.seconds) == RunGoes::to_its_end && !ender.begun()) begin_to_end(OneRunEnd::Cause::asked);
    ender.go_on();
  }
  end.seconds = base::monotonic_seconds() - began;
  end.exit_code = worker.exit_code;
  end.signal = worker.signal;
  orphanage.close();
  return end;
}

base::Text one_line(const base::Text& lines) {
  const auto joined = [](const std::string& text) {
    std::vector<std::string> parts;
    for (const std::string& line : base::split(text, '\n'))
      if (const std::string part = base::trim(line); !part.empty()) parts.push_back(part);
    return shortened(base::join(parts, "; "));
  };
  return {joined(lines.english), joined(lines.chinese)};
}

base::Text reason_of(const OneRunEnd& end, const OneRun& run) {
  if (base::file_exists(run.failure_file)) {
    const rendezvous::FailureReport report = rendezvous::parse_failure_report(base::read_file(run.failure_file));
    const std::string line = last_line_of(report.incident, run);
    return one_line(line.empty() ? report.said() : base::say("{}: {}", report.said(), line));
  }
  if (end.signal == 0) return base::say("ended with exit code {} and gave no reason", end.exit_code);
  return base::say("was killed by signal {} (SIG{})", end.signal, host::signal_name(end.signal));
}

}  // namespace troika::commands
