#include "commands/data/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/units.h"

namespace troika::commands {

ProgressLine::ProgressLine(std::string what, std::FILE* to)
    : what_(std::move(what)),
      to_(to),
      rewrites_(to != nullptr && ::isatty(::fileno(to)) == 1),
      start_(base::monotonic_seconds()),
      last_(start_) {}

ProgressLine::~ProgressLine() {
  if (shown_ && rewrites_) std::fputs("\r\033[K", to_);
}

void ProgressLine::show(const data::Progress& progress) {
  const double now = base::monotonic_seconds();
  if (to_ == nullptr || now - last_ < (rewrites_ ? 1 : 10)) return;
  last_ = now;
  shown_ = true;
  const double share = static_cast<double>(progress.done_bytes) / static_cast<double>(progress.total_bytes);
  std::string line = fmt::format("{}: {:.0f} % of {}", what_, 100 * share, base::format_bytes(progress.total_bytes));
  if (progress.tokens > 0) line += fmt::format(", {} tokens", base::format_count(progress.tokens));
  if (share > 0) line += fmt::format(", {} left", base::format_duration((now - start_) * (1 - share) / share));
  std::fputs((rewrites_ ? "\r" + line + "\033[K" : line + "\n").c_str(), to_);
  std::fflush(to_);
}

}  // namespace troika::commands
