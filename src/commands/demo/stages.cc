#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "commands/demo/demo.h"
#include "host/subprocess.h"

namespace troika::commands {
namespace {

// The terminal sends Ctrl-C to all processes of a command line; what another process sends reaches this one alone.
bool came_from_the_terminal(const siginfo_t& info) { return info.si_code == SI_KERNEL; }

constexpr const char* first_words_of_licences = "Permission is ";

std::vector<std::string> headers_below(const std::string& root) {
  std::vector<std::string> found;
  for (const char* folder : {"/usr/include/c++", "/usr/include/linux", "/usr/include/asm-generic"})
    if (base::directory_exists(root + folder)) found.push_back(root + folder);
  return found;
}

void must_be_there(const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    if (!std::filesystem::exists(text))
      throw base::ConfigError(base::say("--text: there is no file or folder '{}'", text));
}

}  // namespace

Stages::Stages(std::string program, std::map<std::string, std::string> environment)
    : program_(std::move(program)), environment_(std::move(environment)) {
  ::sigemptyset(&waited_);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&waited_, signal);
  ::sigprocmask(SIG_BLOCK, &waited_, &before_);
}

Stages::~Stages() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

int Stages::run(const std::vector<std::string>& words) {
  host::Command command{words, environment_};
  command.words.insert(command.words.begin(), program_);
  command.signals = {host::SignalStart::Ignored::as_here, before_};
  command.signal_at_our_end = SIGTERM;
  std::fflush(nullptr);  // earlier output precedes that of the command
  host::Subprocess stage(command);
  for (bool stopped = false;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&waited_, &info);
    if (signal == SIGCHLD && stage.ends_within(0)) return stopped ? base::exit_interrupted : stage.wait().code();
    if (signal != SIGINT && signal != SIGTERM) continue;
    stopped = true;
    if (!came_from_the_terminal(info)) stage.send(signal);
  }
}

Corpus corpus_of(const std::vector<std::string>& given, const std::string& programs, const std::string& root) {
  must_be_there(given);
  if (!given.empty()) return {given, base::verbatim(base::join(given, ", ")), "The "};
  if (const auto headers = headers_below(root); !headers.empty())
    return {headers, base::say("the C and C++ headers on this machine"), "#ifndef _"};
  for (const char* place : {"/usr/share/common-licenses", "/usr/share/licenses"}) {  // Debian's, Red Hat's
    if (base::directory_exists(root + place))
      return {{root + place}, base::say("the licenses on this machine"), first_words_of_licences};
  }
  const std::string own =
      (std::filesystem::path(programs) / "../share/doc/troika/licenses").lexically_normal().string();
  if (base::directory_exists(own)) return {{own}, base::say("the licenses of Troika's components"), first_words_of_licences};
  throw base::ConfigError(
      base::say("found neither headers (/usr/include) nor licenses (/usr/share/common-licenses) to train on; give a text: --text FOLDER"));
}

}  // namespace troika::commands
