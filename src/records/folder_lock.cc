#include "records/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/text.h"
#include "host/process.h"

namespace troika::records {
namespace {

struct flock whole_file() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

std::string to_text(const LockHolder& holder) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", holder.host, holder.pid, holder.process_start, holder.since,
                     holder.run, holder.launch);
}

// Where it is malformed, as of a holder that is just writing: nobody.
LockHolder words_in(const std::string& path) {
  LockHolder holder;
  std::vector<std::string> lines;
  try {
    lines = base::split(base::read_file(path), '\n');
  } catch (const base::DataError&) {  // gone meanwhile
  }
  if (lines.size() < 6) return holder;
  holder.host = lines[0];
  base::parse_int(lines[1], &holder.pid);
  base::parse_int(lines[2], &holder.process_start);
  base::parse_int(lines[3], &holder.since);
  holder.run = lines[4];
  holder.launch = lines[5];
  return holder;
}

void write_holder(int descriptor, const std::string& path, const LockHolder& me) {
  const std::string text = to_text(me);
  const bool written = ::ftruncate(descriptor, 0) == 0 &&
                       ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(descriptor) == 0;  // other hosts read it
  if (!written) throw base::DataError(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
}

}  // namespace

std::string run_lock_path(const std::string& folder) { return folder + "/run.lock"; }
std::string launch_lock_path(const std::string& folder) { return folder + "/launch.lock"; }

bool LockHolder::lives_here() const {
  return host == base::host_name() && pid != ::getpid() && process_start != 0 &&
         host::process_start(pid) == process_start;
}

LockHolder this_process(const std::string& run, const std::string& launch) {
  return {base::host_name(),
          ::getpid(),
          host::process_start(::getpid()),
          static_cast<std::int64_t>(base::wall_seconds()),
          run,
          launch};
}

FolderLock::~FolderLock() { release(); }

void FolderLock::release() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool FolderLock::take(const LockHolder& me) {
  if (descriptor_ >= 0) {
    write_holder(descriptor_, path_, me);
    return true;
  }
  base::make_directories(path_.substr(0, path_.rfind('/')));
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw base::DataError(fmt::format("cannot open '{}': {}", path_, std::strerror(errno)));
  struct flock whole = whole_file();
  const bool locked = ::fcntl(descriptor_, F_OFD_SETLK, &whole) == 0;
  const bool held = !locked && (errno == EAGAIN || errno == EACCES || words_in(path_).lives_here());
  try {
    if (!held) write_holder(descriptor_, path_, me);
  } catch (...) {
    release();
    throw;
  }
  if (held) release();
  return !held;
}

std::optional<LockHolder> lock_holder(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  struct flock whole = whole_file();
  const bool known = ::fcntl(descriptor, F_OFD_GETLK, &whole) == 0;
  ::close(descriptor);
  const LockHolder holder = words_in(path);
  const bool held = known ? whole.l_type != F_UNLCK : holder.lives_here();
  return held ? std::optional(holder) : std::nullopt;
}

std::optional<LockHolder> held_by_another(const std::string& path, const std::string& launch) {
  constexpr double seconds = 1;
  const double until = base::monotonic_seconds() + seconds;
  for (;;) {
    const auto holder = lock_holder(path);
    if (!holder || holder->is_of(launch)) return std::nullopt;
    if (base::monotonic_seconds() > until) return holder;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace troika::records
