#include "records/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"
#include "base/descriptor.h"
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
  constexpr std::int64_t most_bytes = 4096;
  LockHolder holder;
  const std::optional<base::RunFile> file = base::RunFile::open(path);
  if (!file) return holder;  // gone meanwhile
  const std::vector<std::string> lines = base::split(file->text(0, std::min(file->facts().bytes, most_bytes)), '\n');
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
  int cause = ::ftruncate(descriptor, 0) == 0 ? 0 : errno;
  if (cause == 0) cause = base::write_whole_at(descriptor, to_text(me), 0);
  if (cause == 0) cause = base::sync_whole(descriptor);  // other hosts read it
  if (cause != 0) throw base::DataError(base::say("cannot write '{}': {}", path, base::system_cause(cause)));
}

// The words of a rank that found the folder taken and says its last: it holds nothing.
bool says_its_last(const LockHolder& holder) { return holder.run.empty(); }

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
  descriptor_ = base::open_in_run(path_, O_RDWR | O_CREAT).release();
  struct flock whole = whole_file();
  refusal_ = ::fcntl(descriptor_, F_OFD_SETLK, &whole) == 0 ? 0 : errno;
  const bool by_another = refusal_ == EAGAIN || refusal_ == EACCES;
  const bool held = by_another || (refusal_ != 0 && words_in(path_).lives_here());
  try {
    if (!held) write_holder(descriptor_, path_, me);
  } catch (...) {
    release();
    throw;
  }
  if (held) release();
  return !held;
}

base::Text FolderLock::missing_locks() const {
  return descriptor_ < 0 || refusal_ == 0 ? base::Text{} : base::system_cause(refusal_);
}

FolderLock::Look FolderLock::look(const LockHolder& me) {
  struct stat mine {};
  const auto named = base::RunFile::open(path_);
  const bool is_mine = named && ::fstat(descriptor_, &mine) == 0 && mine.st_dev == named->facts().device &&
                       mine.st_ino == named->facts().inode;
  const LockHolder words = named ? words_in(path_) : LockHolder{};
  if (is_mine && to_text(words) == to_text(me)) return {};
  if (named && !says_its_last(words) && words.run != me.run) return {words, false};
  if (is_mine) {
    write_holder(descriptor_, path_, me);
    return {};
  }
  release();
  if (take(me)) return {std::nullopt, true};
  return {words_in(path_), false};
}

std::optional<LockHolder> lock_holder(const std::string& path) {
  const base::Descriptor lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!lock) {
    const bool absent = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO;
    return absent ? std::nullopt : std::optional(LockHolder{});
  }
  struct flock whole = whole_file();
  const bool known = ::fcntl(lock.number(), F_OFD_GETLK, &whole) == 0;
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

bool in_use(const std::string& folder) { return lock_holder(run_lock_path(folder)).has_value(); }

}  // namespace troika::records
