#include "metrics/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace troika::metrics {

static constexpr std::size_t longest_bar = 40, shortest_bar = 5;

static std::string rate_text(double tokens_per_second) {
  const double bounded = std::clamp(std::isfinite(tokens_per_second) ? tokens_per_second : 0.0, 0.0, 1e18);
  if (bounded > 0 && bounded < 100) return fmt::format("{:.1f} tok/s", bounded);
  return base::format_count(std::llround(bounded)) + " tok/s";
}

// The fields behind the step, most wanted first.
static std::vector<std::string> fields(const ProgressState& state) {
  std::vector<std::string> texts{fmt::format("loss {:.4f}", state.loss), rate_text(state.tokens_per_second)};
  if (state.eta_seconds >= 0) texts.push_back("ETA " + base::format_duration(state.eta_seconds));
  return texts;
}

static double fraction_done(const ProgressState& state) {
  if (state.total_steps <= 0) return 0;
  return std::clamp(static_cast<double>(state.step) / static_cast<double>(state.total_steps), 0.0, 1.0);
}

std::string format_bar(const ProgressState& state, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 1));
  const std::string head = fmt::format("step {}/{}", state.step, state.total_steps);
  std::string tail = fmt::format(" {:3}%", static_cast<int>(fraction_done(state) * 100));
  for (const std::string& field : fields(state)) {
    if (head.size() + tail.size() + 1 + field.size() > columns) break;
    tail += " " + field;
  }
  const std::size_t fixed = head.size() + tail.size() + 3;  // " [" and "]"
  const std::size_t room = columns > fixed ? std::min(columns - fixed, longest_bar) : 0;
  std::string line = head + (room >= shortest_bar ? " " + draw_bar(fraction_done(state), room) : "") + tail;
  if (line.size() > columns) line.resize(columns);
  return line;
}

std::string format_line(const ProgressState& state) {
  std::string line = fmt::format("step {}/{}", state.step, state.total_steps);
  for (const std::string& field : fields(state)) line += " " + field;
  return line;
}

int terminal_width(std::FILE* out) {
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

ProgressStyle progress_style(const std::string& name, std::FILE* out) {
  if (name == "auto") return ::isatty(::fileno(out)) == 1 ? ProgressStyle::bar : ProgressStyle::lines;
  if (name == "bar") return ProgressStyle::bar;
  if (name == "lines") return ProgressStyle::lines;
  if (name == "none") return ProgressStyle::none;
  throw base::ConfigError(fmt::format("log.progress may be auto, bar, lines or none, not '{}'", name));
}

Progress::Progress(std::FILE* out, ProgressStyle style, std::int64_t done_steps, std::int64_t total_steps,
                   double now_seconds)
    : out_(out),
      line_(out),
      style_(style),
      first_step_(done_steps + 1),
      total_steps_(total_steps),
      begin_seconds_(now_seconds),
      last_line_seconds_(now_seconds) {}

Progress::~Progress() { finish(); }

double Progress::eta_seconds(std::int64_t step, double now_seconds) const {
  const std::int64_t done = step - first_step_ + 1;
  if (done <= 0) return -1;
  return (now_seconds - begin_seconds_) / static_cast<double>(done) *
         static_cast<double>(std::max<std::int64_t>(total_steps_ - step, 0));
}

void Progress::step_done(std::int64_t step, double loss, double tokens_per_second, double now_seconds) {
  if (style_ == ProgressStyle::none) return;
  const ProgressState state{step, total_steps_, loss, tokens_per_second, eta_seconds(step, now_seconds)};
  if (style_ == ProgressStyle::bar) {
    line_.draw(format_bar(state, terminal_width(out_) - 1));  // the last column would make some terminals wrap
    return;
  }
  if (step != first_step_ && step != total_steps_ && now_seconds - last_line_seconds_ < 1.0) return;
  last_line_seconds_ = now_seconds;
  std::fprintf(out_, "%s\n", format_line(state).c_str());
  std::fflush(out_);
}

void Progress::note(const std::string& text) { line_.print_above(text); }

void Progress::finish() { line_.end(); }

}  // namespace troika::metrics
