#include "exporters/event_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/cause.h"
#include "host/subprocess.h"

namespace troika::exporters {
using records::EventKind;

namespace {

constexpr std::chrono::seconds event_command_last_wait{2};
constexpr int timed_out = 124;  // of coreutils' timeout

// Readable from its begin; a file, so that a command that does not read it holds up nobody.
base::Descriptor file_in_memory(const std::string& content) {
  base::Descriptor file(::memfd_create("troika-event", MFD_CLOEXEC));
  if (!file || ::write(file.number(), content.data(), content.size()) < 0 || ::lseek(file.number(), 0, SEEK_SET) != 0)
    throw std::system_error(errno, std::generic_category());
  return file;
}

// On a disk that refuses, what the command prints is lost and the command runs all the same.
base::Descriptor log_of(const std::string& run) {
  try {
    base::make_directories(run);
    return base::open_in_run(run, "logs/on-event.log", O_WRONLY | O_CREAT | O_APPEND);
  } catch (const base::DataError&) {
    return {};
  }
}

std::map<std::string, std::string> variables_of(const EventCommand& command, const records::Event& event) {
  std::map<std::string, std::string> all = command.environment;
  all.erase("TROIKA_SECRET");
  all["TROIKA_EVENT"] = records::word_of(event.kind);
  all["TROIKA_RUN"] = command.run;
  all["TROIKA_STEP"] = event.step < 0 ? "" : std::to_string(event.step);
  constexpr std::size_t most_text_bytes = 32768;  // a system's limit is 128 KiB; the JSON has all of it
  all["TROIKA_TEXT"] = event.text.substr(0, most_text_bytes);
  for (auto& [name, value] : all) value = value.substr(0, value.find('\0'));
  return all;
}

// coreutils' timeout keeps the limit, also when this process has ended. Without one there is no limit.
host::Subprocess started(const EventCommand& command, const records::Event& event) {
  const base::Descriptor input = file_in_memory(to_json(event) + "\n"), log = log_of(command.run);
  host::Command start{{"/bin/sh", "-c", command.command}, variables_of(command, event)};
  if (!host::find_program("timeout", start.environment).empty())
    start.words.insert(start.words.begin(), {"timeout", "--kill-after=5", fmt::format("{}", command.limit_seconds)});
  start.input = host::Stream::to(input);
  start.output = start.errors = log ? host::Stream::to(log) : host::Stream::nothing();
  start.group = host::Command::Group::session;
  return host::Subprocess(start);
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
  std::function<void(const base::Text&)> tell;

  void note(EventKind kind, const base::Text& what) {
    if (tell) tell(base::say("note: log.on_event at '{}' failed: {}; the run is not affected", word_of(kind), what));
  }
  void run(const records::Event& event);
};

void EventCommands::Impl::run(const records::Event& event) {
  const std::string log = command.run + "/logs/on-event.log";
  base::Text what;
  try {
    const host::End end = started(command, event).wait();
    if (end.signal != 0)
      what = base::say("it was killed by signal {} (its output: {})", end.signal, log);
    else if (end.exit_code == timed_out)
      what = base::say("it did not finish within {:g} s and was killed (its output: {})", command.limit_seconds, log);
    else if (end.exit_code != 0)
      what = base::say("it ended with exit code {} (its output: {})", end.exit_code, log);
  } catch (const host::StartError& error) {
    what = base::say("it could not be started: {}", base::system_cause(error.cause()));
  } catch (const std::system_error& error) {
    what = base::say("it could not be started: {}", base::system_cause(error.code().value()));
  }
  const std::lock_guard<std::mutex> lock(mutex);
  --running;
  if (!what.empty()) note(event.kind, what);
  ended.notify_all();
}

EventCommands::EventCommands(EventCommand command, std::function<void(const base::Text&)> tell)
    : impl_(std::make_shared<Impl>()) {
  impl_->command = std::move(command);
  impl_->tell = std::move(tell);
}

EventCommands::~EventCommands() {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  impl_->ended.wait_for(lock, event_command_last_wait, [&] { return impl_->running == 0; });
  impl_->tell = {};
}

// The thread opens files too, on a disk that may not answer.
void EventCommands::tell(const records::Event& event) {
  if (impl_->command.command.empty() || !calls_command(event.kind)) return;
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  try {
    std::thread([self = impl_, event] { self->run(event); }).detach();
    ++impl_->running;
  } catch (const std::system_error& error) {
    impl_->note(event.kind, base::say("it could not be started: {}", base::system_cause(error.code().value())));
  }
}

}  // namespace troika::exporters
