#include "data/made_once.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/json.h"
#include "base/run_files.h"

namespace troika::data {

static constexpr double seconds_between = 0.25;
static constexpr std::int64_t most_board_bytes = 65536;

ProgressBoard::ProgressBoard(std::string path) : path_(std::move(path)) {}

ProgressBoard::~ProgressBoard() { ::unlink(path_.c_str()); }

void ProgressBoard::post(const Progress& progress) {
  const double now = base::monotonic_seconds();
  if (last_seconds_ >= 0 && now - last_seconds_ < seconds_between) return;
  last_seconds_ = now;
  const nlohmann::json posted{{"maker", fmt::format("process {} on {}", ::getpid(), base::host_name())},
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

std::optional<Progress> posted_progress(const std::string& path) {
  try {
    const nlohmann::json posted = base::parse_json(base::read_regular_file(path, most_board_bytes), path);
    return Progress{base::json_int(posted, "done_bytes", path), base::json_int(posted, "total_bytes", path),
                    base::json_int(posted, "tokens", path), base::json_int(posted, "parts_reused", path),
                    base::json_string(posted, "maker", path)};
  } catch (const base::DataError&) {  // not there yet, or no longer
    return std::nullopt;
  }
}

MakerWatch::MakerWatch(std::string lock_path, std::string board_path, OnProgress on_progress)
    : lock_path_(std::move(lock_path)),
      board_path_(std::move(board_path)),
      on_progress_(std::move(on_progress)),
      moved_seconds_(base::monotonic_seconds()) {}

void MakerWatch::look(const std::string& unseen) {
  constexpr double patience_minutes = 10;
  const auto posted = posted_progress(board_path_);
  if (posted && on_progress_) on_progress_(*posted);
  const std::int64_t done = posted ? posted->done_bytes : -1;
  if (done != done_bytes_) moved_seconds_ = base::monotonic_seconds();
  done_bytes_ = done;
  if (!unseen.empty() && base::monotonic_seconds() - moved_seconds_ > 60 * patience_minutes)
    throw base::DataError(base::say("'{}' names {} as the process preparing these data, on a file system without locks, and it has made no progress for {:g} minutes: remove that file if the process is gone, or keep the data on a local disk with --data.cache", lock_path_ + ".held", unseen, patience_minutes));
}

}  // namespace troika::data
