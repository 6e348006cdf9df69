#include "data/made_once.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/json.h"
#include "base/run_files.h"
#include "host/lock_file.h"

namespace troika::data {
namespace {

constexpr double seconds_between = 0.25, patience_minutes = 10;
constexpr std::int64_t most_board_bytes = 65536;

// Progress of a job in a file that other processes see, which is there while the object is. Never throws when the disk refuses: the
// job matters more than its progress.
class ProgressBoard {
 public:
  explicit ProgressBoard(std::string path) : path_(std::move(path)) {}
  ~ProgressBoard() { ::unlink(path_.c_str()); }
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  void post(const Progress& progress) {
    const double now = base::monotonic_seconds();
    if (last_seconds_ >= 0 && now - last_seconds_ < seconds_between) return;
    last_seconds_ = now;
    const nlohmann::json posted{{"process", ::getpid()},
                                {"host", base::host_name()},
                                {"done_bytes", progress.done_bytes},
                                {"total_bytes", progress.total_bytes},
                                {"tokens", progress.tokens},
                                {"parts_reused", progress.parts_reused}};
    const std::string next = fmt::format("{}.{}", path_, ::getpid());
    try {
      base::remove_tree(next);
      base::append_file(next, posted.dump());
      base::replace_file(next, path_);
    } catch (const base::DataError&) {  // the job itself will say so
    }
  }

 private:
  const std::string path_;
  double last_seconds_ = -1;
};

// The last progress posted by the working process, with its name; nothing when it has posted none.
std::optional<Progress> posted_progress(const std::string& path) {
  try {
    const nlohmann::json posted = base::parse_json(base::read_regular_file(path, most_board_bytes), path);
    return Progress{base::json_int(posted, "done_bytes", path), base::json_int(posted, "total_bytes", path),
                    base::json_int(posted, "tokens", path), base::json_int(posted, "parts_reused", path),
                    base::say("process {} on {}", base::json_int(posted, "process", path),
                              base::json_string(posted, "host", path))};
  } catch (const base::DataError&) {  // not there yet, or no longer
    return std::nullopt;
  }
}

}  // namespace

void make_once(const std::string& path, const std::function<bool()>& open,
               const std::function<void(const OnProgress&)>& make, const OnProgress& on_progress) {
  if (open()) return;
  const std::string board_path = path + ".progress", lock_path = path + ".lock";
  std::int64_t done_bytes = -1;
  double moved_seconds = base::monotonic_seconds();
  const host::LockFile lock(lock_path, [&](const base::Text& unseen) {
    const auto posted = posted_progress(board_path);
    if (posted && on_progress) on_progress(*posted);
    const double now = base::monotonic_seconds();
    const std::int64_t done = posted ? posted->done_bytes : -1;
    if (std::exchange(done_bytes, done) != done) moved_seconds = now;
    if (!unseen.empty() && now - moved_seconds > 60 * patience_minutes)
      throw base::DataError(base::say("'{}' names {} as the process preparing these data, on a file system without locks, and it has made no progress for {:g} minutes: remove that file if the process is gone, or keep the data on a local disk with --data.cache", lock_path + ".held", unseen, patience_minutes));
  });
  if (open()) return;
  ProgressBoard board(board_path);
  make([&](const Progress& progress) {
    board.post(progress);
    if (on_progress) on_progress(progress);
  });
  open();
}

}  // namespace troika::data
