// Files that several processes of a host need and one of them makes, and their progress.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/say.h"

namespace troika::data {

struct Progress {
  std::int64_t done_bytes = 0;  // of the input
  std::int64_t total_bytes = 0;
  std::int64_t tokens = 0;        // written so far; 0 where none are
  std::int64_t parts_reused = 0;  // chunks that an earlier process had finished
  base::Text maker = {};          // who works, where another process does: "process 4711 on pi2"; else empty
};

// Called on the thread that called the job, after each chunk of about 1 MiB, or ten times a second while another process
// works. May be empty.
using OnProgress = std::function<void(const Progress&)>;

// Until `open` finds it, which it tells. When it does not, the first process that comes makes it, under a lock at `path`.lock; the
// others wait and receive its progress. `make` throws what it wants; `open` is false for what is not there or damaged, and is called
// again afterwards. The folder of `path` is there. DataError where only a file's word says who works, a process of another host, and
// its progress has not moved for ten minutes.
void make_once(const std::string& path, const std::function<bool()>& open,
               const std::function<void(const OnProgress&)>& make, const OnProgress& on_progress);

// A disk that refuses tokenized data. Unlike bad input it is no reason to discard what is done.
class DiskError : public base::DataError {
 public:
  explicit DiskError(const base::Text& what)
      : DataError(base::say("{}; free some space, or choose another folder (--out, --data.cache)", what)) {}
};

}  // namespace troika::data
