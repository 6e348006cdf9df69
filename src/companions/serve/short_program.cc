#include "serve/short_program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/cause.h"
#include "host/subprocess.h"

namespace troika::serve {
namespace {

host::Subprocess started(const ShortProgram& program) {
  const base::Descriptor log(::open(program.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) throw base::ConfigError(base::say("cannot write to '{}': {}", program.log, base::system_cause(errno)));
  host::Command command{program.words, program.environment};
  command.folder = program.folder;
  command.input = host::Stream::nothing();
  command.output = host::Stream::to(log);
  command.errors = program.errors == ShortProgram::Errors::dropped ? host::Stream::nothing() : command.output;
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

}  // namespace

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

}  // namespace troika::serve
