#include "commands/probe/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace troika::commands {
namespace {

class SpawnFiles {
 public:
  SpawnFiles() { ::posix_spawn_file_actions_init(&actions_); }
  ~SpawnFiles() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnFiles(const SpawnFiles&) = delete;
  SpawnFiles& operator=(const SpawnFiles&) = delete;
  void put(int descriptor, int at) { ::posix_spawn_file_actions_adddup2(&actions_, descriptor, at); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Both ends are closed in other children, so that each sees the end of its own.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw base::ConfigError(fmt::format("cannot make a pipe: {}", ::strerror(errno)));
  return ends;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Child::Child(std::vector<std::string> words, const std::map<std::string, std::string>& environment) : name_(words[0]) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const auto input = make_pipe(), output = make_pipe();
  SpawnFiles files;
  files.put(input[0], STDIN_FILENO);
  files.put(output[1], STDOUT_FILENO);
  const int code = ::posix_spawn(&pid_, name_.c_str(), files.get(), nullptr, pointers_to(words).data(),
                                 pointers_to(variables).data());
  ::close(input[0]);
  ::close(output[1]);
  in_ = ::fdopen(input[1], "w");
  out_ = ::fdopen(output[0], "r");
  if (code == 0) return;
  std::fclose(in_);
  std::fclose(out_);
  throw base::ConfigError(fmt::format("cannot start '{}': {}", name_, ::strerror(code)));
}

Child::~Child() {
  std::fclose(in_);
  std::fclose(out_);
  for (int i = 0; pid_ > 0 && i < 200; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::say(const std::string& line) {
  std::fprintf(in_, "%s\n", line.c_str());
  std::fflush(in_);
}

std::string Child::hear() {
  std::string line;
  for (int c = std::fgetc(out_); c != '\n'; c = std::fgetc(out_)) {
    if (c != EOF) {
      line.push_back(static_cast<char>(c));
      continue;
    }
    const int code = wait();
    throw base::PeerError(
        fmt::format("'{}', started to measure beside this process, ended with {}; if nobody did that, memory ran out",
                    name_, code > 128 ? fmt::format("signal {}", code - 128) : fmt::format("exit code {}", code)));
  }
  return line;
}

std::string Child::hear_all() {
  std::string text;
  for (int c = std::fgetc(out_); c != EOF; c = std::fgetc(out_)) text.push_back(static_cast<char>(c));
  return text;
}

int Child::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::map<std::string, std::string> environment_of_nobody(std::map<std::string, std::string> environment) {
  static const char* const names[] = {"RANK",
                                      "WORLD_SIZE",
                                      "LOCAL_RANK",
                                      "LOCAL_WORLD_SIZE",
                                      "GROUP_RANK",
                                      "MASTER_ADDR",
                                      "MASTER_PORT",
                                      "TROIKA_STORE",
                                      "TROIKA_SECRET",
                                      "TROIKA_LAUNCH",
                                      "TROIKA_GENERATION",
                                      "TROIKA_SECRET_FILE",
                                      "NNODES",
                                      "NUM_NODES",
                                      "PET_NNODES",
                                      "NODE_RANK",
                                      "PET_NODE_RANK",
                                      "PET_MASTER_ADDR",
                                      "NUM_GPUS",
                                      "SLURM_STEP_ID",
                                      "SLURM_PROCID",
                                      "FORCE_TORCHRUN",
                                      "OMP_NUM_THREADS",
                                      "OMP_WAIT_POLICY",
                                      "NPROC_PER_NODE",
                                      "PET_NPROC_PER_NODE",
                                      "PET_MASTER_PORT",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE"};
  for (const char* name : names) environment.erase(name);
  return environment;
}

}  // namespace troika::commands
