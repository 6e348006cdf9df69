#include "commands/entry_points.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/language.h"
#include "base/say.h"
#include "diagnosis/diagnosis.h"
#include "monitor/find_run.h"
#include "records/run_reader.h"

namespace troika::commands {
namespace {

struct WhyArguments {
  std::string run_dir;
  bool json = false;
};

config::FlagTable declare_why(WhyArguments& a) {
  config::FlagTable table("troika why");
  table.usage("RUN_DIR [--json]");
  table.word("RUN_DIR", a.run_dir, "The folder of a run: failed, finished or running.").required();
  table.add("json", a.json, "One JSON object: cause, evidence, advice.").alone();
  table.paragraph(
      "Reads only the folder. The cause is a word from docs/formats/causes.md, 'none' for a healthy run;\nevidence is what the folder shows; advice lists flags, or what to do outside Troika. `troika launch`\nprints the same after a failure.");
  return table;
}

void check_run(const std::string& folder) {
  if (!base::directory_exists(folder)) throw base::ConfigError(base::say("there is no run folder {}", folder));
  for (const std::string& path : {records::state_path(folder), records::events_path(folder), folder + "/metrics.jsonl"})
    if (base::file_exists(path)) return;
  throw base::ConfigError(monitor::no_records_in(folder));
}

std::string report_on(const WhyArguments& arguments, base::Language language) {
  check_run(arguments.run_dir);
  const diagnosis::Diagnosis found = diagnosis::diagnose(arguments.run_dir);
  return arguments.json ? diagnosis::to_json(found, language) : diagnosis::describe(found, language);
}

constexpr std::size_t most_report = std::size_t{16} << 20;

// The message of the child: the kind of ending, then the text.
enum class Sent : char { report = 'r', refusal = 'e' };

// If a child that is left behind could print, too, a reader of troika's output would wait for it.
[[noreturn]] void send_report(const base::Descriptor& to, const WhyArguments& arguments, base::Language language) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int output : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(output);
  std::string text;
  try {
    text = static_cast<char>(Sent::report) + report_on(arguments, language);
  } catch (const base::Error& error) {
    text = static_cast<char>(Sent::refusal) + error.in(language);
  } catch (const std::exception& error) {
    text = static_cast<char>(Sent::refusal) + std::string(error.what());
  }
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::write(to.number(), text.data() + sent, text.size() - sent);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  ::_exit(0);
}

}  // namespace

// The folder is read by a child: a disk that does not answer keeps the process that asks it, which is left behind then.
std::string why_report(const Call& call) {
  const WhyArguments arguments = read_arguments(call.words, declare_why);
  const base::Language language = call.language;
  constexpr double patience_seconds = 10;
  base::Pipe pipe = base::make_pipe();
  if (!pipe.reads) return report_on(arguments, language);
  const pid_t child = ::fork();
  if (child == 0) send_report(pipe.writes, arguments, language);
  if (child < 0) return report_on(arguments, language);
  pipe.writes.close();
  const auto text = base::read_to_end(pipe.reads, patience_seconds, most_report);
  if (!text || text->empty()) {
    ::kill(child, SIGKILL);
    const diagnosis::Diagnosis silent = diagnosis::of_silent_disk(arguments.run_dir, patience_seconds);
    return arguments.json ? diagnosis::to_json(silent, language) : diagnosis::describe(silent, language);
  }
  ::waitpid(child, nullptr, 0);
  if (text->front() == static_cast<char>(Sent::refusal)) throw base::ConfigError(base::verbatim(text->substr(1)));
  return text->substr(1);
}

config::FlagTable why_flags() { return unbound<WhyArguments, declare_why>(); }

}  // namespace troika::commands
