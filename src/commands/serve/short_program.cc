#include "commands/serve/short_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/system_cause.h"
#include "commands/serve/refusal_texts.h"

namespace troika::commands::serve {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In a process group of its own.
pid_t spawned(const ShortProgram& program) {
  std::vector<std::string> words = program.words, variables;
  for (const auto& [name, value] : program.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(variables);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  if (!program.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&files, program.folder.c_str());
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, program.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, words.front().c_str(), &files, &attributes, argv.data(), envp.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw base::ConfigError(base::say(refusal_texts.no_start, words.front(), base::system_cause(error)));
  return child;
}

// Why it is waited for no longer; `well` when it has ended, however that was.
ShortEnd awaited(pid_t child, const ShortProgram& program) {
  constexpr double slice_seconds = 0.2;
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (handle < 0) return ShortEnd::too_late;
  const double until = base::monotonic_seconds() + program.deadline_seconds;
  ShortEnd end = ShortEnd::too_late;
  for (double left = program.deadline_seconds; left > 0; left = until - base::monotonic_seconds()) {
    pollfd polled{handle, POLLIN, 0};
    const int ready = ::poll(&polled, 1, 1 + static_cast<int>(1000 * std::min(slice_seconds, left)));
    if (ready < 0 && errno != EINTR) break;
    if (ready > 0)
      end = ShortEnd::well;
    else if (program.abandoned && program.abandoned())
      end = ShortEnd::abandoned;
    if (end != ShortEnd::too_late) break;
  }
  ::close(handle);
  return end;
}

}  // namespace

ShortEnd run_short(const ShortProgram& program) {
  const pid_t child = spawned(program);
  const ShortEnd end = awaited(child, program);
  ::kill(-child, SIGKILL);  // in time too: what it has left behind
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (end != ShortEnd::well) return end;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ShortEnd::well : ShortEnd::badly;
}

ScratchFolder::ScratchFolder() {
  char path[] = "/tmp/troika-page-XXXXXX";
  if (::mkdtemp(path) == nullptr)
    throw base::ConfigError(base::say(refusal_texts.no_scratch, base::system_cause(errno)));
  path_ = path;
}
ScratchFolder::~ScratchFolder() { base::remove_tree(path_); }

}  // namespace troika::commands::serve
