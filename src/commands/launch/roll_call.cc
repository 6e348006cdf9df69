#include "commands/launch/roll_call.h"

#include <deque>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/version.h"
#include "host/subprocess.h"
#include "launch/host_process.h"
#include "launch/launcher.h"

namespace troika::commands {
namespace {

constexpr double roll_call_seconds = 20;  // for all hosts together

struct Asked {
  std::size_t host;
  std::vector<std::string> words;
  launch::HostProcess process;
  std::string said{};
};

bool all_answered(std::deque<Asked>& asked) {
  bool all = true;
  for (Asked& one : asked) {
    one.said += one.process.read_output();
    one.process.read_complaints();
    all = all && one.process.output() < 0 && one.process.end();
  }
  return all;
}

bool is_unreachable(Asked& asked) { return asked.process.end().value_or(ssh_failed) == ssh_failed; }

// Empty: it is ready.
base::Text fault_of(Asked& asked, const Greeting& greeting, const std::string& program) {
  const std::optional<int> code = asked.process.end();
  if (is_unreachable(asked))
    return base::say(
        "{}; `{}` must work without a password",
        code ? base::verbatim(asked.process.complaint()) : base::say("no reply within {:g} s", roll_call_seconds),
        launch::shell_words(asked.words));
  if (*code != 0)
    return base::say(
        "{} (exit code {}); set the run's folder and the path of troika there with --remote-folder and --remote-program",
        asked.process.complaint(), *code);
  const std::string here = "troika " + std::string(base::version);
  if (greeting.version != here)
    return base::say("'{}' is {} there but {} here; install the same version on all hosts", program,
                     base::printable(greeting.version, 60), here);
  return {};
}

}  // namespace

std::vector<Greeting> call_roll(const std::vector<launch::LaunchHost>& hosts, const RemoteRun& run,
                                const std::map<std::string, std::string>& environment, host::Signals& signals) {
  std::deque<Asked> asked;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    if (hosts[host].here) continue;
    const auto words = launch::ssh_words(hosts[host].ssh, greeting_command(run.folder, run.program));
    asked.push_back({host, words, launch::HostProcess(words, environment, launch::HostProcess::Output::read)});
    asked.back().process.end_input();
  }
  const double until = base::monotonic_seconds() + roll_call_seconds;
  while (!all_answered(asked) && base::monotonic_seconds() < until)
    if (host::asks_to_stop(signals.wait(50))) throw launch::Stopped();

  std::vector<Greeting> greetings(hosts.size());
  std::vector<base::Text> faults;
  bool any_unreachable = false;
  for (Asked& one : asked) {
    greetings[one.host] = read_greeting(one.said);
    const base::Text fault = fault_of(one, greetings[one.host], run.program);
    if (fault.empty()) continue;
    faults.push_back(base::say("host {} ({}): {}", one.host, hosts[one.host].name(), fault));
    any_unreachable = any_unreachable || is_unreachable(one);
  }
  if (any_unreachable) throw base::PeerError(base::lines(faults));
  if (!faults.empty()) throw base::ConfigError(base::lines(faults));
  return greetings;
}

constexpr std::string_view connection_word = "troika-ssh";

std::string in_folder(const std::string& folder) {
  if (folder.empty() || folder == "~") return "";
  const std::string below = folder.rfind("~/", 0) == 0 ? folder.substr(2) : folder;
  return below.empty() ? "" : "cd " + host::shell_word(below) + " && ";
}

std::string greeting_command(const std::string& folder, const std::string& program) {
  return in_folder(folder) + host::shell_word(program) + " version && echo " + std::string(connection_word) +
         " $SSH_CONNECTION";
}

// SSH_CONNECTION: the client's address and port, the server's address and port.
Greeting read_greeting(const std::string& text) {
  Greeting greeting;
  for (const std::string& whole : base::split(text, '\n')) {
    const std::string line = base::trim(whole);
    if (line.rfind("troika ", 0) == 0 && greeting.version.empty()) greeting.version = line;
    const std::vector<std::string> words = base::split(line, ' ');
    if (words.size() == 5 && words[0] == connection_word) greeting.from = words[1], greeting.host_address = words[3];
  }
  return greeting;
}

}  // namespace troika::commands
