#include "commands/why/why.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/language.h"
#include "commands/why/arguments.h"
#include "diagnosis/diagnosis.h"
#include "records/run_reader.h"

namespace troika::commands {
namespace {

void check_run(const std::string& folder) {
  if (!base::directory_exists(folder)) throw base::ConfigError(fmt::format("there is no run folder {}", folder));
  for (const std::string& path : {records::state_path(folder), records::events_path(folder), folder + "/metrics.jsonl"})
    if (base::file_exists(path)) return;
  throw base::ConfigError(
      fmt::format("{} holds no records of a run (events.jsonl, state.json, metrics.jsonl); name the folder that --out "
                  "of the training named",
                  folder));
}

std::string report_on(const WhyArguments& arguments, base::Language language) {
  check_run(arguments.run_dir);
  const diagnosis::Diagnosis found = diagnosis::diagnose(arguments.run_dir);
  return arguments.json ? diagnosis::to_json(found, language) : diagnosis::describe(found, language);
}

// What the child sends: the kind of ending, then the text.
enum class Sent : char { report = 'r', refusal = 'e' };

// Whoever reads what troika prints would wait for a child that is left behind, if that could print, too.
[[noreturn]] void send_report(int pipe, const WhyArguments& arguments, base::Language language) {
  for (const int output : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(output);
  std::string text;
  try {
    text = static_cast<char>(Sent::report) + report_on(arguments, language);
  } catch (const std::exception& error) {
    text = static_cast<char>(Sent::refusal) + std::string(error.what());
  }
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::write(pipe, text.data() + sent, text.size() - sent);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  ::_exit(0);
}

// All that comes within that time; nothing when the end has not come.
std::optional<std::string> received_within(int pipe, double seconds) {
  std::string text;
  const double until = base::monotonic_seconds() + seconds;
  for (;;) {
    pollfd ready{pipe, POLLIN, 0};
    const double left = until - base::monotonic_seconds();
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left * 1000) + 1) == 0) return std::nullopt;
    char block[4096];
    const ssize_t count = ::read(pipe, block, sizeof block);
    if (count == 0) return text;
    if (count > 0) text.append(block, static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return std::nullopt;
  }
}

}  // namespace

// The folder is read by a child: a disk that does not answer keeps the process that asks it, which is left behind then.
std::string why_report(const Call& call) {
  const WhyArguments arguments = parse_why_arguments(call.words);
  const base::Language language = base::language_of(arguments.lang, base::locale_in(call.environment));
  constexpr double patience_seconds = 10;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return report_on(arguments, language);
  const pid_t child = ::fork();
  if (child == 0) send_report(ends[1], arguments, language);
  ::close(ends[1]);
  const auto text = child < 0 ? std::nullopt : received_within(ends[0], patience_seconds);
  ::close(ends[0]);
  if (child < 0) return report_on(arguments, language);
  if (!text || text->empty()) {
    ::kill(child, SIGKILL);
    const diagnosis::Diagnosis silent = diagnosis::of_silent_disk(arguments.run_dir, patience_seconds);
    return arguments.json ? diagnosis::to_json(silent, language) : diagnosis::describe(silent, language);
  }
  ::waitpid(child, nullptr, 0);
  if (text->front() == static_cast<char>(Sent::refusal)) throw base::ConfigError(text->substr(1));
  return text->substr(1);
}

}  // namespace troika::commands
