#include "exporters/event_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace troika::exporters {
using records::EventKind;

namespace {

constexpr std::chrono::seconds event_command_last_wait{2};
constexpr int timed_out = 124;  // of coreutils' timeout

// A descriptor that is closed with it.
class OwnDescriptor {
 public:
  explicit OwnDescriptor(int number) : number_(number) {}
  ~OwnDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// Readable from its begin; a file, so that a command that does not read it holds up nobody.
int file_in_memory(const std::string& content) {
  const int file = ::memfd_create("troika-event", MFD_CLOEXEC);
  if (file < 0) return file;
  if (::write(file, content.data(), content.size()) < 0 || ::lseek(file, 0, SEEK_SET) < 0) {
    ::close(file);
    return -1;
  }
  return file;
}

// On a disk that refuses, what the command prints is lost and the command runs all the same.
int output_of(const std::string& run) {
  try {
    base::make_directories(run + "/logs");
    const std::string path = run + "/logs/on-event.log";
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file >= 0) return file;
  } catch (const base::DataError&) {
  }
  return ::open("/dev/null", O_WRONLY | O_CLOEXEC);
}

std::vector<std::string> variables_of(const EventCommand& command, const records::Event& event) {
  std::map<std::string, std::string> all = command.environment;
  all.erase("TROIKA_SECRET");
  all["TROIKA_EVENT"] = records::word_of(event.kind);
  all["TROIKA_RUN"] = command.run;
  all["TROIKA_STEP"] = event.step < 0 ? "" : std::to_string(event.step);
  constexpr std::size_t most_text_bytes = 32768;  // a system's limit is 128 KiB; the JSON has all of it
  all["TROIKA_TEXT"] = event.text.substr(0, most_text_bytes);
  std::vector<std::string> variables;
  for (const auto& [name, value] : all)
    variables.push_back(fmt::format("{}={}", name, value.substr(0, value.find('\0'))));
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What a spawned process begins with: a session of its own, no signal blocked or ignored.
class SpawnSettings {
 public:
  SpawnSettings(int input, int output) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none, ours;
    ::sigemptyset(&none);
    ::sigemptyset(&ours);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2}) ::sigaddset(&ours, signal);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &ours);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  int spawn(std::vector<std::string> words, std::vector<std::string> variables, pid_t* process) const {
    return ::posix_spawnp(process, words.front().c_str(), &files_, &attributes_, pointers_to(words).data(),
                          pointers_to(variables).data());
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

// coreutils' timeout keeps the limit, also when this process has ended. Without one there is no limit. 0, or errno.
int start(const EventCommand& command, const records::Event& event, pid_t* process) {
  const OwnDescriptor input(file_in_memory(to_json(event) + "\n")), output(output_of(command.run));
  if (input.number() < 0 || output.number() < 0) return errno;
  const SpawnSettings settings(input.number(), output.number());
  const std::vector<std::string> variables = variables_of(command, event);
  const std::string limit = fmt::format("{}", command.limit_seconds);
  const int code =
      settings.spawn({"timeout", "--kill-after=5", limit, "/bin/sh", "-c", command.command}, variables, process);
  return code == ENOENT ? settings.spawn({"/bin/sh", "-c", command.command}, variables, process) : code;
}

}  // namespace

bool calls_command(EventKind kind) {
  return kind == EventKind::start || kind == EventKind::failure || kind == EventKind::restart ||
         kind == EventKind::stop || kind == EventKind::finish;
}

// Shared with the threads that wait for commands, which may outlive the object.
struct EventCommands::Impl {
  EventCommand command;
  std::mutex mutex;  // guards what follows
  std::condition_variable ended;
  int running = 0;
  std::function<void(const std::string&)> say;

  void note(EventKind kind, const std::string& what) {
    if (say) say(fmt::format("note: log.on_event at '{}' {}; the run is not touched", word_of(kind), what));
  }
  void run(const records::Event& event);
};

void EventCommands::Impl::run(const records::Event& event) {
  pid_t process = 0;
  const int code = start(command, event, &process);
  int status = 0;
  if (code == 0) {
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
  }
  const std::lock_guard<std::mutex> lock(mutex);
  --running;
  const std::string log = command.run + "/logs/on-event.log";
  if (code != 0)
    note(event.kind, fmt::format("could not be started: {}", std::strerror(code)));
  else if (WIFSIGNALED(status))
    note(event.kind, fmt::format("was ended by signal {} (its output: {})", WTERMSIG(status), log));
  else if (WEXITSTATUS(status) == timed_out)
    note(event.kind,
         fmt::format("did not end within {:g} s and was ended (its output: {})", command.limit_seconds, log));
  else if (WEXITSTATUS(status) != 0)
    note(event.kind, fmt::format("ended with exit code {} (its output: {})", WEXITSTATUS(status), log));
  ended.notify_all();
}

EventCommands::EventCommands(EventCommand command, std::function<void(const std::string&)> say)
    : impl_(std::make_shared<Impl>()) {
  impl_->command = std::move(command);
  impl_->say = std::move(say);
}

EventCommands::~EventCommands() {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  impl_->ended.wait_for(lock, event_command_last_wait, [&] { return impl_->running == 0; });
  impl_->say = {};
}

// The thread opens files too, on a disk that may not answer.
void EventCommands::tell(const records::Event& event) {
  if (impl_->command.command.empty() || !calls_command(event.kind)) return;
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  try {
    std::thread([self = impl_, event] { self->run(event); }).detach();
    ++impl_->running;
  } catch (const std::system_error& error) {
    impl_->note(event.kind, fmt::format("could not be started: {}", error.what()));
  }
}

}  // namespace troika::exporters
