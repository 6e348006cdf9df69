#include "serve/detached.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"
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
    throw base::ConfigError(base::say("what was started before still writes to '{}'", path));
  *bytes = facts.st_size;
  return log;
}

host::Subprocess started(const DetachedProgram& program, const base::Descriptor& log) {
  host::Command command{program.words, program.environment};
  command.folder = program.folder;
  command.input = host::Stream::nothing();
  command.output = command.errors = host::Stream::to(log);
  command.group = host::Command::Group::session;
  command.other_files = host::Command::Files::closed;
  return host::Subprocess(command);
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

}  // namespace

bool has_writer(const std::string& log) {
  const base::Descriptor file(::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

DetachedStart start_detached(const DetachedProgram& program, double patience_seconds) {
  std::int64_t before = 0;
  base::Descriptor log = locked_log(program.log, &before);
  host::Subprocess process = started(program, log);
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

}  // namespace troika::serve
