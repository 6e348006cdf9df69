#include "soak/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace troika::soak {

bool await(double seconds, const std::function<bool()>& ready) {
  const double until = base::monotonic_seconds() + seconds;
  while (!ready()) {
    if (base::monotonic_seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

static std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

Process::Process(const std::vector<std::string>& words, const std::vector<std::string>& variables,
                 const std::string& output) {
  std::vector<std::string> arguments = words, entries = variables;
  entries.emplace_back("PATH=/usr/bin:/bin");
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::posix_spawn_file_actions_adddup2(&files, 1, 2);
  const int code = ::posix_spawn(&pid_, words[0].c_str(), &files, nullptr, pointers_to(arguments).data(),
                                 pointers_to(entries).data());
  ::posix_spawn_file_actions_destroy(&files);
  if (code != 0) throw base::ConfigError("cannot start '" + words[0] + "'");
}

Process::~Process() {
  if (ended()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<int> Process::ended() {
  int status = 0;
  if (!code_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    code_ = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

std::string text_from(const std::string& path, std::size_t from) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(from));
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : "";
}

bool has_ended(pid_t pid) {
  const std::string stat = text_from("/proc/" + std::to_string(pid) + "/stat", 0);
  const auto name_end = stat.rfind(") ");
  return name_end == std::string::npos || stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X';
}

std::vector<pid_t> processes_with(const std::vector<std::string>& entries) {
  std::vector<pid_t> found;
  for (const std::string& name : base::list_directory("/proc")) {
    std::int64_t pid = 0;
    if (!base::parse_int(name, &pid)) continue;
    const std::vector<std::string> all = base::split(text_from("/proc/" + name + "/environ", 0), '\0');
    const bool has_all = std::all_of(entries.begin(), entries.end(), [&](const std::string& entry) {
      return std::find(all.begin(), all.end(), entry) != all.end();
    });
    if (has_all && !has_ended(static_cast<pid_t>(pid))) found.push_back(static_cast<pid_t>(pid));
  }
  return found;
}

bool maps(pid_t pid, const std::string& part) {
  return text_from("/proc/" + std::to_string(pid) + "/maps", 0).find(part) != std::string::npos;
}

}  // namespace troika::soak
