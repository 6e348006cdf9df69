#include "metrics/job_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace troika::metrics {

static constexpr std::size_t longest_bar = 40, shortest_bar = 10;
static constexpr double silent_seconds = 0.5, seconds_between_bars = 0.1;

static double share_of(const JobState& state) {
  if (state.total_bytes <= 0) return 0;
  return std::clamp(static_cast<double>(state.done_bytes) / static_cast<double>(state.total_bytes), 0.0, 1.0);
}

static std::string head_of(const JobState& state) {
  return fmt::format("{} {} of {}", state.what, base::format_bytes(state.done_bytes),
                     base::format_bytes(state.total_bytes));
}

static std::string percent_of(const JobState& state) { return fmt::format(" {:3.0f}%", 100 * share_of(state)); }

// Most wanted first.
static std::vector<std::string> fields_of(const JobState& state) {
  std::vector<std::string> fields;
  if (state.eta_seconds >= 0) fields.push_back(fmt::format(" {} left", base::format_duration(state.eta_seconds)));
  if (state.parts_taken_up > 0) fields.push_back(fmt::format(" ({} parts were there)", state.parts_taken_up));
  if (state.tokens > 0) fields.push_back(fmt::format(" {} tokens", base::format_count(state.tokens)));
  return fields;
}

std::string format_job_bar(const JobState& state, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 1));
  const std::string head = head_of(state);
  std::string tail = percent_of(state);
  std::size_t used = head.size() + tail.size() + 3;  // " [" and "]"
  for (const std::string& field : fields_of(state)) {
    if (used + shortest_bar + field.size() > columns) break;
    tail += field;
    used += field.size();
  }
  const std::size_t room = columns > used ? std::min(columns - used, longest_bar) : 0;
  std::string line = head + (room >= shortest_bar ? " " + draw_bar(share_of(state), room) : "") + tail;
  return line.substr(0, columns);
}

std::string format_job_line(const JobState& state) {
  return head_of(state) + percent_of(state) + base::join(fields_of(state), "");
}

JobProgress::JobProgress(std::FILE* out, ProgressStyle style, double line_seconds)
    : style_(out == nullptr ? ProgressStyle::none : style), line_seconds_(line_seconds), out_(out), line_(out) {}

JobProgress::~JobProgress() { line_.end(); }

bool JobProgress::due(const JobState& state, double now_seconds) const {
  if (state.done_bytes >= state.total_bytes) return lines_shown_ || line_.drawn();
  if (now_seconds - begin_seconds_ < silent_seconds) return false;
  const double between = style_ == ProgressStyle::bar ? seconds_between_bars : line_seconds_;
  return now_seconds - shown_seconds_ >= between;
}

void JobProgress::begin(const JobState& state, double now_seconds) {
  line_.end();
  lines_shown_ = false;
  begin_seconds_ = shown_seconds_ = now_seconds;
  begin_bytes_ = state.done_bytes;
  total_bytes_ = state.total_bytes;
}

void JobProgress::show(JobState state, double now_seconds) {
  if (style_ == ProgressStyle::none) return;
  if (begin_seconds_ < 0 || state.total_bytes != total_bytes_) begin(state, now_seconds);
  if (!due(state, now_seconds)) return;
  const double done = static_cast<double>(state.done_bytes - begin_bytes_);
  const double left = static_cast<double>(state.total_bytes - state.done_bytes);
  if (done > 0 && left > 0) state.eta_seconds = (now_seconds - begin_seconds_) / done * left;
  shown_seconds_ = now_seconds;
  if (style_ == ProgressStyle::bar) return line_.draw(format_job_bar(state, terminal_width(out_) - 1));
  lines_shown_ = true;
  std::fprintf(out_, "%s\n", format_job_line(state).c_str());
  std::fflush(out_);
}

}  // namespace troika::metrics
