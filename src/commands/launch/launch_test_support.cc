#include "commands/launch/launch_test_support.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "base/await_test_support.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "commands/cli.h"
#include "commands/launch/launch.h"
#include "host/process.h"
#include "rendezvous/store.h"

namespace troika::commands {

Launcher::Launcher(const std::vector<std::string>& flags, const std::string& script, const std::string& folder,
                   const std::map<std::string, std::string>& environment) {
  std::vector<std::string> arguments = flags;
  if (std::find(flags.begin(), flags.end(), "--program") == flags.end()) {
    arguments.insert(arguments.end(), {"--program", "/bin/sh"});
  }
  arguments.insert(arguments.end(), {"--", "-c", script});
  std::map<std::string, std::string> all = environment;
  all["PATH"] = "/usr/bin:/bin";
  start(folder, [&] { return guarded([&] { return run_launch(arguments, all, base::Language::english); }); });
}

Launcher::Launcher(const std::vector<std::string>& words, const std::string& folder) {
  std::vector<std::string> all = words;
  all.insert(all.begin(), "troika");
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  start(folder, [&] {
    ::setenv("PATH", (folder + "/bin:" + ::getenv("PATH")).c_str(), 1);
    return ::execv(TROIKA_BINARY_DIR "/troika", arguments.data());
  });
}

void Launcher::start(const std::string& folder, const std::function<int()>& run) {
  output_path_ = fmt::format("{}/launcher-{}.txt", folder, base::list_directory(folder).size());
  const int output = ::open(output_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    if (::chdir(folder.c_str()) != 0) ::_exit(99);
    ::_exit(run());
  }
  ::close(output);
}

Launcher::~Launcher() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Launcher::signal(int number) const { ::kill(pid_, number); }

void Launcher::lead_a_group() const { EXPECT_EQ(::setpgid(pid_, pid_), 0); }

int Launcher::wait() {
  int status = 0;
  const bool ended = base::await(30, [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
  EXPECT_TRUE(ended) << "the launcher did not end within 30 s:\n" << output();
  if (!ended) return -1;
  pid_ = -1;
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Launcher::output() const { return base::read_file(output_path_); }

void Launcher::await_output(const std::string& part) const {
  EXPECT_TRUE(base::await(20, [&] { return output().find(part) != std::string::npos; }))
      << "'" << part << "' did not come:\n"
      << output();
}

std::string fresh_folder(const std::string& name) {
  const std::string suite = testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
  const std::string folder = fmt::format("{}/launch-test/{}/{}", TROIKA_BINARY_DIR, suite, name);
  base::remove_tree(folder);
  base::make_directories(folder);
  return folder;
}

std::string await_file(const std::string& path) {
  const bool there = base::await(20, [&] { return base::file_exists(path) && base::file_size(path) > 0; });
  EXPECT_TRUE(there) << path << " did not come";
  return there ? base::read_file(path) : "";
}

void await_end(pid_t pid) {
  const bool ended = base::await(10, [&] {
    try {
      const std::string stat = base::read_file(fmt::format("/proc/{}/stat", pid));
      const auto state = stat.rfind(") ");
      return state == std::string::npos || stat[state + 2] == 'Z' || stat[state + 2] == 'X';
    } catch (const base::DataError&) {
      return true;
    }
  });
  EXPECT_TRUE(ended) << "process " << pid << " still runs";
}

void await_stop(pid_t pid) {
  EXPECT_TRUE(base::await(10, [&] { return host::is_stopped(pid); })) << "process " << pid << " is not stopped";
}

}  // namespace troika::commands
