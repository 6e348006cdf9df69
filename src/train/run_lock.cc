#include "train/run_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/text.h"
#include "host/process.h"

namespace troika::train {
namespace {

struct Holder {
  std::string host, run;
  std::int64_t pid = 0, process_start = 0,
               since = 0;  // process_start: in the kernel's ticks, tells apart who has had this pid
};

// What the kernel says of a process or thread, from its state on; empty: it has ended.
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

std::string to_text(const Holder& holder) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n", holder.host, holder.pid, holder.process_start, holder.since, holder.run);
}

// Where it is malformed, as of a holder that is just writing: nobody.
Holder holder_of(const std::string& path) {
  Holder holder;
  const auto lines = base::split(base::read_file(path), '\n');
  if (lines.size() < 5) return holder;
  holder.host = lines[0];
  base::parse_int(lines[1], &holder.pid);
  base::parse_int(lines[2], &holder.process_start);
  base::parse_int(lines[3], &holder.since);
  holder.run = lines[4];
  return holder;
}

bool lives_here(const Holder& holder) {
  return holder.host == base::host_name() && holder.pid != ::getpid() &&
         host::process_start(holder.pid) == holder.process_start && holder.process_start != 0;
}

std::string remedy(const Holder& holder) {
  if (!lives_here(holder)) return "let it end, or end it there";
  if (any_thread_is(holder.pid, "Tt"))
    return fmt::format("it is stopped: kill -CONT {0} lets it continue, kill -KILL {0} ends it", holder.pid);
  if (any_thread_is(holder.pid, "D"))
    return "it waits in the kernel, as for a disk or driver that does not answer, and cannot be ended before that "
           "does: see "
           "that disk or restart the host";
  return fmt::format("let it end, or end it (kill {})", holder.pid);
}

[[noreturn]] void refuse(const std::string& folder, const Holder& holder) {
  const std::string who = holder.host.empty()
                              ? "another process"
                              : fmt::format("process {} on host {}, since {:%Y-%m-%d %H:%M:%S}", holder.pid,
                                            holder.host, fmt::localtime(static_cast<std::time_t>(holder.since)));
  throw base::ConfigError(
      fmt::format("another run writes to '{}': {}; {}; or choose another --train.out (the lock is {}/run.lock)", folder,
                  who, remedy(holder), folder));
}

void write_holder(int descriptor, const std::string& run) {
  const std::string text = to_text({base::host_name(), run, ::getpid(), host::process_start(::getpid()),
                                    static_cast<std::int64_t>(base::wall_seconds())});
  const bool written = ::ftruncate(descriptor, 0) == 0 &&
                       ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(descriptor) == 0;  // other hosts read it
  if (!written) throw base::DataError(fmt::format("cannot write run.lock: {}", std::strerror(errno)));
}

}  // namespace

RunLock::RunLock(const std::string& folder, const std::string& run) {
  base::make_directories(folder);
  const std::string path = folder + "/run.lock";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) throw base::DataError(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  const bool locked = ::fcntl(descriptor, F_OFD_SETLK, &whole) == 0;
  const bool held = !locked && (errno == EAGAIN || errno == EACCES);
  try {
    if (!locked && !held) {  // no locks here
      const Holder holder = holder_of(path);
      if (lives_here(holder) && holder.run != run) refuse(folder, holder);
    }
    if (!held) write_holder(descriptor, run);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  if (!held) {
    descriptor_ = descriptor;
    return;
  }
  ::close(descriptor);
  constexpr double seconds = 1;  // a disk that hosts share may show late what was written
  const double until = base::monotonic_seconds() + seconds;
  for (Holder holder = holder_of(path); holder.run != run; holder = holder_of(path)) {
    if (base::monotonic_seconds() > until) refuse(folder, holder);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

RunLock::~RunLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace troika::train
