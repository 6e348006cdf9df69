#include "serve/programs.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"
#include "diagnosis/diagnosis.h"
#include "host/subprocess.h"
#include "host/worker.h"

namespace troika::serve {
namespace {

constexpr int lines_of_last_words = 12;
constexpr std::size_t most_last_words = 4096;

// Locked, and how much was in it.
base::Descriptor locked_log(const std::string& path, std::int64_t* bytes) {
  base::Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  const int cause = log ? EINVAL : errno;
  struct stat facts {};
  if (!log || ::fstat(log.number(), &facts) != 0 || !S_ISREG(facts.st_mode))
    throw base::ConfigError(base::say("cannot write to '{}': {}", path, base::system_cause(cause)));
  if (::flock(log.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw base::ConfigError(base::say("an earlier process still writes to '{}'", path));
  *bytes = facts.st_size;
  return log;
}

host::Command command_of(const Program& program, const base::Descriptor& log) {
  host::Command command{program.words, program.environment};
  command.folder = program.folder;
  command.input = host::Stream::nothing();
  command.output = command.errors = host::Stream::to(log);
  return command;
}

// Its end is collected while this process lives, and by init afterwards.
void leave_alone(host::Subprocess process) {
  const auto shared = std::make_shared<host::Subprocess>(std::move(process));
  try {
    std::thread([shared] { shared->wait(); }).detach();
  } catch (const std::system_error&) {  // no room for a thread: an end that nobody collects harms nobody
    shared->leave();
  }
}

host::Subprocess started(const ShortProgram& program) {
  const base::Descriptor log(::open(program.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) throw base::ConfigError(base::say("cannot write to '{}': {}", program.log, base::system_cause(errno)));
  host::Command command = command_of(program, log);
  if (program.errors == ShortProgram::Errors::dropped) command.errors = host::Stream::nothing();
  command.group = host::Command::Group::own;
  return host::Subprocess(command);
}

// Why it is waited for no longer; `well` when it has ended, however that was.
ShortEnd awaited(const host::Subprocess& process, const ShortProgram& program) {
  constexpr double slice_seconds = 0.2;
  const double until = base::monotonic_seconds() + program.deadline_seconds;
  for (double left = program.deadline_seconds; left > 0; left = until - base::monotonic_seconds()) {
    if (process.ends_within(std::min(slice_seconds, left))) return ShortEnd::well;
    if (program.abandoned && program.abandoned()) return ShortEnd::abandoned;
  }
  return ShortEnd::too_late;
}

using Json = nlohmann::ordered_json;

std::string meaning_of(const Json& cause, base::Language language) {
  try {
    return std::string(diagnosis::sentence_of(cause.get<std::string>()).in(language));
  } catch (const base::BugError&) {  // of another version
    return "";
  }
}

// No object where it fails.
Json said_by_why(const Options& options, const std::string& folder, const Asked& asked) {
  const ScratchFolder scratch;
  ShortProgram why;
  why.words = {options.program, "why", folder, "--json"};
  for (std::string& word : host::language_flag(asked.language)) why.words.push_back(std::move(word));
  why.environment = options.environment;
  why.log = scratch.file("said");
  why.errors = ShortProgram::Errors::dropped;
  why.deadline_seconds = 15;
  why.abandoned = asked.abandoned;
  try {
    if (run_short(why) != ShortEnd::well) return nullptr;
  } catch (const base::ConfigError&) {  // it is not there
    return nullptr;
  }
  const Json found = Json::parse(base::read_file(why.log), nullptr, false);
  if (!found.is_object() || !found.contains("cause") || !found["cause"].is_string()) return nullptr;
  Json answer = {{"cause", found["cause"]}, {"sentence", meaning_of(found["cause"], asked.language)}};
  for (const auto& item : found.items())
    if (item.key() != "cause") answer[item.key()] = item.value();
  return answer;
}

}  // namespace

bool has_writer(const std::string& log) {
  const base::Descriptor file(::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

DetachedStart start_detached(const Program& program, double patience_seconds) {
  std::int64_t before = 0;
  base::Descriptor log = locked_log(program.log, &before);
  host::Command command = command_of(program, log);
  command.group = host::Command::Group::session;
  command.other_files = host::Command::Files::closed;
  host::Subprocess process(command);
  log.close();
  DetachedStart start;
  start.ended = process.ends_within(patience_seconds);
  if (!start.ended) {
    leave_alone(std::move(process));
    return start;
  }
  start.exit_code = process.wait().code();
  start.last_words = base::printable(host::last_lines(program.log, before, lines_of_last_words), most_last_words);
  return start;
}

ShortEnd run_short(const ShortProgram& program) {
  host::Subprocess process = started(program);
  const ShortEnd end = awaited(process, program);
  process.send(SIGKILL);  // in time too: what it has left behind
  const bool well = process.wait().well();
  return end != ShortEnd::well || well ? end : ShortEnd::badly;
}

ScratchFolder::ScratchFolder() {
  char path[] = "/tmp/troika-page-XXXXXX";
  if (::mkdtemp(path) == nullptr)
    throw base::ConfigError(base::say("cannot make a folder below /tmp: {}", base::system_cause(errno)));
  path_ = path;
}
ScratchFolder::~ScratchFolder() { base::remove_tree(path_); }

std::string why_json(const Options& options, const std::string& folder, const Asked& asked) {
  const Json why = said_by_why(options, folder, asked);
  if (why.is_null()) throw Refused{404, base::say("this run has no records yet to diagnose it from")};
  return json_line(why);
}

std::string found_why(const Options& options, const std::string& folder, const Asked& asked) {
  const Json why = said_by_why(options, folder, asked);
  return why.is_null() || why["cause"] == "none" ? "" : json_line(why);
}

}  // namespace troika::serve
