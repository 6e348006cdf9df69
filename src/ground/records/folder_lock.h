// The right to write in a run's folder: RUN/run.lock belongs to the ranks of a run, RUN/launch.lock to a launch. The holder of one
// looks at the other before it writes, so that of two that come at once one at most continues.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/language.h"

namespace troika::records {

std::string run_lock_path(const std::string& folder);
std::string launch_lock_path(const std::string& folder);

struct LockHolder {
  std::string host;
  std::int64_t pid = 0, process_start = 0;  // the latter in the kernel's ticks: tells apart who has had this pid
  std::int64_t since = 0;                   // seconds since 1970
  std::string run;                          // equal in all processes of one run; "": of a launcher
  std::string launch;                       // rendezvous::Identity::launch; "": of none of ours, or not known

  bool is_of(const std::string& other_launch) const { return !launch.empty() && launch == other_launch; }
  bool lives_here() const;  // it is another process of this host, and there
};

LockHolder this_process(const std::string& run, const std::string& launch);

// The kernel's lock on a file (an open file description's, which NFS servers keep too): it goes with its process, however that ends.
// The file says who has it.
class FolderLock {
 public:
  explicit FolderLock(std::string path) : path_(std::move(path)) {}
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // False where somebody has it. On a file system without locks the file's word counts where its process lives on this host, and
  // nothing elsewhere. The folder is made. One that is held already gets new words. DataError when the disk refuses.
  bool take(const LockHolder& me);
  void release();

  // Why the file system of a held lock keeps no locks; "" if it does.
  base::Text missing_locks() const;

  // For a held lock with `me` in it: whether the file of that name is still this one and names this process. A removed
  // file is taken again.
  struct Look {
    std::optional<LockHolder> other;  // who has it, or had it meanwhile, instead; then it may be held no longer
    bool taken_again = false;
  };
  Look look(const LockHolder& me);

 private:
  const std::string path_;
  int descriptor_ = -1;
  int refusal_ = 0;  // errno of the kernel's lock
};

// The holder of the lock; nothing where it is free. A holder that is just writing has no words yet, nor has one whose file may not
// be read: an unknown holder is still a holder.
std::optional<LockHolder> lock_holder(const std::string& path);

// The holder of the lock unless it is of `launch`, or nothing: a holder that goes within a second counts as gone, as a disk that
// hosts share may show late what was written.
std::optional<LockHolder> held_by_another(const std::string& path, const std::string& launch);

// A process, of whatever host where the file system tells that, holds RUN/run.lock; on a file system without locks one of this host.
// True, too, where that may not be asked.
bool in_use(const std::string& folder);

}  // namespace troika::records
