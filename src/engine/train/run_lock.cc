#include "train/run_lock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <thread>
#include <vector>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "exporters/tensorboard.h"
#include "records/run_reader.h"

namespace troika::train {
namespace {

using records::LockHolder;

// The kernel's words on a process or thread, from its state on; empty: it has ended.
std::vector<std::string> words_of(const std::string& stat_path) {
  try {
    const std::string stat = base::read_file(stat_path);
    return base::split(stat.substr(stat.rfind(')') + 2), ' ');  // the name before it may hold anything
  } catch (const base::DataError&) {
    return {};
  }
}

// Whether any of its threads is in one of these states: of a process that was killed, one that the kernel keeps.
bool any_thread_is(std::int64_t pid, const std::string& states) {
  const std::string folder = fmt::format("/proc/{}/task", pid);
  std::vector<std::string> threads;
  try {
    threads = base::list_directory(folder);
  } catch (const base::DataError&) {  // it has ended
  }
  return std::any_of(threads.begin(), threads.end(), [&](const std::string& thread) {
    const auto words = words_of(fmt::format("{}/{}/stat", folder, thread));
    return !words.empty() && states.find(words[0]) != std::string::npos;
  });
}

base::Text remedy(const LockHolder& holder) {
  if (!holder.lives_here()) return base::say("wait for it to finish, or end it there");
  if (any_thread_is(holder.pid, "Tt"))
    return base::say("it is stopped: kill -CONT {0} resumes it, kill -KILL {0} ends it", holder.pid);
  if (any_thread_is(holder.pid, "D"))
    return base::say(
        "it is blocked in the kernel, as by an unresponsive disk or driver, and cannot be ended until that responds: check that disk or restart the host");
  return base::say("wait for it to finish, or end it (kill {})", holder.pid);
}

base::Text name_of(const LockHolder& holder) {
  if (holder.host.empty()) return base::say("another process");
  return base::say("process {} on host {}, since {:%Y-%m-%d %H:%M:%S}", holder.pid, holder.host,
                   fmt::localtime(static_cast<std::time_t>(holder.since)));
}

[[noreturn]] void refuse(const std::string& folder, const std::string& lock, const LockHolder& holder) {
  throw base::ConfigError(
      base::say("another run writes to '{}': {}; {}; or choose another --train.out (never remove its lock, {})", folder,
                  name_of(holder), remedy(holder), lock), base::Cause::folder_in_use);
}

[[noreturn]] void refuse_to_share(const std::string& folder, const std::string& lock, const LockHolder& holder) {
  throw base::ConfigError(
      base::say("another run has taken over '{}': {}; this one ends, since two runs in one folder corrupt each other's checkpoints (never remove a run's lock, {})",
                  folder, name_of(holder), lock), base::Cause::folder_in_use);
}

}  // namespace

// Whose launch it is comes first: a rank that waits for another launch to end must not have the lock that the ranks of that one want.
RunLock::RunLock(const std::string& folder, const std::string& run, const std::string& launch)
    : folder_(folder), lock_(records::run_lock_path(folder)), me_(records::this_process(run, launch)) {
  const std::string path = records::run_lock_path(folder), of_launch = records::launch_lock_path(folder);
  constexpr double seconds = 1;  // a disk that hosts share may show late what was written
  constexpr double refused_seconds =
      6;  // a launch that has this host's folder but was refused on another host is about to end
  const double began = base::monotonic_seconds();
  const auto other_launcher = [&] {
    const auto launcher = records::lock_holder(of_launch);
    return launcher && !launcher->is_of(launch) ? launcher : std::nullopt;
  };
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
    auto launcher = other_launcher();
    if (!launcher && lock_.take(me_)) {
      launcher = other_launcher();
      holds_ = !launcher;
      if (holds_) return;
      lock_.release();
    }
    const auto holder = records::lock_holder(path);
    if (holder && holder->run == run) return;
    const double passed = base::monotonic_seconds() - began;
    if (holder && passed > seconds) refuse(folder, path, *holder);
    if (launcher && passed > refused_seconds) refuse(folder, of_launch, *launcher);
  }
}

base::Text RunLock::note_of_missing_locks() const {
  const base::Text why = lock_.missing_locks();
  return why.empty() ? base::Text{}
                     : base::say(
                           "the file system of '{}' does not support locks ({}): a second run on another host in this folder is detected only at the next checkpoint, and ends one of the two",
                           folder_, why);
}

base::Text RunLock::look() {
  if (!holds_) return {};
  const std::string path = records::run_lock_path(folder_);
  try {
    const records::FolderLock::Look seen = lock_.look(me_);
    if (seen.other) refuse_to_share(folder_, path, *seen.other);
    if (!seen.taken_again) return {};
  } catch (const base::DataError&) {  // a disk that is full or fails; the checkpoint will say so
    return {};
  }
  return base::say(
      "'{}' was removed during this run and is created again; if the whole folder was moved or removed, later files are in a new one",
      path);
}

namespace {

[[noreturn]] void refuse_link(const std::string& path, const base::Text& instead) {
  std::error_code ignored;
  const std::string target = std::filesystem::read_symlink(path, ignored).string();
  throw base::ConfigError(base::say(
      "'{}' is a link to '{}', but a run neither writes nor removes anything through links inside its folder: remove the link{}",
      path, target, instead));
}

void check_file(const std::string& path) {
  if (base::is_link(path)) refuse_link(path, {});
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !base::file_exists(path))
    throw base::ConfigError(
        base::say("'{}' is a pipe, a folder or a device, but a run needs a file there: remove it, or choose another --train.out",
                  path));
}

void check_folder(const std::string& path, const base::Text& instead) {
  if (base::is_link(path)) refuse_link(path, instead);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !base::is_plain_folder(path))
    throw base::ConfigError(
        base::say("'{}' is a file, but a run needs a folder there: remove it, or choose another --train.out", path));
}

}  // namespace

void check_own_folder(const config::Settings& settings) {
  const std::string& folder = settings.train.out;
  for (const std::string_view name : records::own_files) check_file(fmt::format("{}/{}", folder, name));
  for (const std::string_view name : records::own_folders)
    check_folder(fmt::format("{}/{}", folder, name),
                 base::say(", or set --train.out to its target for the whole run"));
  if (settings.data.cache.empty())
    check_folder(folder + "/data", base::say(", or name its target with --data.cache"));
  const std::string events = exporters::tensorboard_folder(settings);
  if (events == folder + "/tensorboard")
    check_folder(events, base::say(", or name its target with --log.tensorboard"));
  for (const char* lines : {"logs", "records"})
    for (const std::string& name : base::list_directory(folder + "/" + lines))
      check_file(folder + "/" + lines + "/" + name);
}

}  // namespace troika::train
