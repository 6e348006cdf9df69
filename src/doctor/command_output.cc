#include "doctor/command_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"

extern char** environ;

namespace troika::doctor {
namespace {

// Until the other end closes; false when that takes longer.
bool read_until_closed(int pipe, double until, std::string& text) {
  char bytes[4096];
  while (text.size() < std::size_t{64} << 10) {
    pollfd polled{pipe, POLLIN, 0};
    const double left = until - base::monotonic_seconds();
    if (left <= 0 || ::poll(&polled, 1, static_cast<int>(1000 * left) + 1) <= 0) return false;
    const ssize_t count = ::read(pipe, bytes, sizeof bytes);
    if (count <= 0) return count == 0;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::string output_of(const std::vector<std::string>& words, double seconds) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> own = words;
  std::vector<char*> pointers;
  for (std::string& word : own) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int code = ::posix_spawnp(&pid, pointers[0], &files, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  std::string text;
  const bool whole = code == 0 && read_until_closed(ends[0], base::monotonic_seconds() + seconds, text);
  ::close(ends[0]);
  if (code != 0) return "";
  if (!whole) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "";
}

}  // namespace troika::doctor
