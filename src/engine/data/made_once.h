// What several processes of a host need and one of them makes, and how far it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/say.h"
#include "host/lock_file.h"

namespace troika::data {

struct Progress {
  std::int64_t done_bytes = 0;  // of the input
  std::int64_t total_bytes = 0;
  std::int64_t tokens = 0;        // written so far; 0 where none are
  std::int64_t parts_reused = 0;  // chunks that an earlier process had finished
  std::string maker = "";         // who works, where another process does: "process 4711 on pi2"; else empty
};

// Called on the thread that called the job, after each chunk of about 1 MiB, or ten times a second while another process
// works. May be empty.
using OnProgress = std::function<void(const Progress&)>;

// Progress of a job where other processes see it.
// The file is there while the object is. One thread. Never throws when the disk refuses: the job matters more than its progress.
class ProgressBoard {
 public:
  explicit ProgressBoard(std::string path);
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  void post(const Progress& progress);  // at most four times a second

 private:
  const std::string path_;
  double last_seconds_ = -1;
};

// What the process that works has posted last, with its name; nothing when none has.
std::optional<Progress> posted_progress(const std::string& path);

// Waits beside the lock at `lock_path` and tells the progress posted at `board_path`. DataError where only a file's word says who
// works, a process of another host, and its progress has not moved for ten minutes.
class MakerWatch {
 public:
  MakerWatch(std::string lock_path, std::string board_path, OnProgress on_progress);
  void look(const std::string& unseen);  // as host::WhileWaiting

 private:
  const std::string lock_path_, board_path_;
  const OnProgress on_progress_;
  std::int64_t done_bytes_ = -1;
  double moved_seconds_;
};

// Gives what `open` finds. When that is nothing, the first process that comes makes it, under a lock at `path`.lock; the
// others wait and receive its progress. `make` throws what it wants; `open` gives null for what is not there or
// damaged, and is called again afterwards. The folder of `path` is there.
template <class T>
std::shared_ptr<T> made_once(const std::string& path, const std::function<std::shared_ptr<T>()>& open,
                             const std::function<void(const OnProgress&)>& make, const OnProgress& on_progress) {
  if (auto found = open()) return found;
  const std::string board_path = path + ".progress", lock_path = path + ".lock";
  MakerWatch watch(lock_path, board_path, on_progress);
  const host::LockFile lock(lock_path, [&](const std::string& unseen) { watch.look(unseen); });
  if (auto found = open()) return found;
  ProgressBoard board(board_path);
  make([&](const Progress& progress) {
    board.post(progress);
    if (on_progress) on_progress(progress);
  });
  return open();
}

// A disk that refuses tokenized data. Unlike bad input it is no reason to discard what is done.
class DiskError : public base::DataError {
 public:
  explicit DiskError(const base::Text& what)
      : DataError(base::say("{}; free some space, or choose another folder (--out, --data.cache)", what)) {}
};

}  // namespace troika::data
