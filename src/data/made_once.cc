#include "data/made_once.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/json.h"

namespace troika::data {

static constexpr double seconds_between = 0.25;

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
    const nlohmann::json posted = base::parse_json(base::read_file(path), path);
    return Progress{base::json_int(posted, "done_bytes", path), base::json_int(posted, "total_bytes", path),
                    base::json_int(posted, "tokens", path), base::json_int(posted, "parts_reused", path),
                    base::json_string(posted, "maker", path)};
  } catch (const base::DataError&) {  // not there yet, or no longer
    return std::nullopt;
  }
}

}  // namespace troika::data
