#include "commands/serve/chat_turn.h"

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
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "commands/launch/worker.h"
#include "commands/serve/form.h"

namespace troika::commands::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr int lines_of_chat = 6;
constexpr std::size_t most_chat_words = 2048;

class TurnFolder {
 public:
  TurnFolder() {
    char path[] = "/tmp/troika-chat-XXXXXX";
    if (::mkdtemp(path) == nullptr)
      throw base::ConfigError(fmt::format("cannot make a folder below /tmp: {}", ::strerror(errno)));
    path_ = path;
  }
  ~TurnFolder() { base::remove_tree(path_); }
  TurnFolder(const TurnFolder&) = delete;
  TurnFolder& operator=(const TurnFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In a process group of its own, with no signal blocked or ignored, and its words in `log`.
pid_t spawned(std::vector<std::string> words, const config::Environment& environment, const std::string& log) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(variables);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
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
  if (error != 0) throw base::ConfigError(fmt::format("cannot start '{}': {}", words.front(), ::strerror(error)));
  return child;
}

// Whether it ended by itself, with code 0.
bool ended_well(pid_t child, double deadline_seconds) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  const double until = base::monotonic_seconds() + deadline_seconds;
  for (;;) {
    pollfd polled{handle, POLLIN, 0};
    const int left = static_cast<int>(1000 * std::max(0.0, until - base::monotonic_seconds()));
    const int ready = handle < 0 ? 0 : ::poll(&polled, 1, left);
    if (ready >= 0 || errno != EINTR) break;
  }
  if (handle >= 0) ::close(handle);
  ::kill(-child, SIGKILL);  // at the deadline; else what it left behind
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

ChatAnswer read_answer(const std::string& path) {
  const Json line = Json::parse(base::read_file(path), nullptr, false);
  const bool whole =
      line.is_object() && line.contains("messages") && line["messages"].is_array() && !line["messages"].empty();
  if (!whole) throw base::DataError("the model gave no answer");
  const Json& last = line["messages"].back();
  ChatAnswer answer;
  answer.text = last.value("content", "");
  answer.finish = line.value("finish", "");
  if (line.contains("tokens") && line["tokens"].is_number_integer()) answer.tokens = line["tokens"];
  return answer;
}

}  // namespace

ChatAnswer answer_of(const ChatTurn& turn, const Options& options, double deadline_seconds) {
  const TurnFolder folder;
  const std::string asked = folder.file("asked.jsonl"), told = folder.file("told.jsonl"), log = folder.file("log");
  base::write_file_atomic(asked, fmt::format("{{\"messages\": {}}}\n", turn.messages));
  const pid_t child =
      spawned({options.program, "chat", turn.model, "--input", asked, "--output", told, "--max-new-tokens",
               std::to_string(turn.most_tokens), "--seed", std::to_string(turn.seed)},
              environment_of_runs(options.environment), log);
  if (!ended_well(child, deadline_seconds)) {
    const std::string words = base::printable(last_lines(log, 0, lines_of_chat), most_chat_words);
    throw base::DataError(words.empty() ? fmt::format("no answer within {:.0f} s", deadline_seconds) : words);
  }
  return read_answer(told);
}

}  // namespace troika::commands::serve
