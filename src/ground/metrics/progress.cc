#include "metrics/progress.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/say.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "base/units.h"

namespace troika::metrics {
namespace {

constexpr std::size_t longest_bar = 40, shortest_bar = 5;
constexpr double silent_seconds = 0.5, seconds_between_bars = 0.1, seconds_between_kept = 10;

double fraction_of(std::int64_t done, std::int64_t total) {
  return total <= 0 ? 0 : std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
}

std::string percent_of(double fraction) { return fmt::format(" {:3}%", static_cast<int>(fraction * 100)); }

base::Text rate_text(double tokens_per_second) {
  const double bounded = std::clamp(std::isfinite(tokens_per_second) ? tokens_per_second : 0.0, 0.0, 1e18);
  if (bounded > 0 && bounded < 100) return base::say("{:.1f} tokens/s", bounded);
  return base::say("{} tokens/s", base::format_count(std::llround(bounded)));
}

std::string bar_of(double fraction, std::size_t columns) {
  const auto full = static_cast<std::size_t>(fraction * static_cast<double>(columns));
  std::string bar = std::string(full, '=');
  if (full < columns) bar += '>';
  bar.resize(columns, ' ');
  return "[" + bar + "]";
}

}  // namespace

std::string format_bar(const ProgressText& text, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 1));
  std::string right = percent_of(text.fraction);
  for (const std::string& field : text.fields) {
    if (base::terminal_columns(text.head) + base::terminal_columns(right) + 1 + base::terminal_columns(field) > columns) break;
    right += " " + field;
  }
  const std::size_t fixed = base::terminal_columns(text.head) + base::terminal_columns(right) + 3;  // " [" and "]"
  const std::size_t left = columns > fixed ? std::min(columns - fixed, longest_bar) : 0;
  std::string line = text.head + (left >= shortest_bar ? " " + bar_of(text.fraction, left) : "") + right;
  while (base::terminal_columns(line) > columns) {
    line.pop_back();
    line.resize(line.size() - base::unfinished_bytes(line));
  }
  return line;
}

std::string format_line(const ProgressText& text) {
  std::string line = text.head;
  for (const std::string& field : text.fields) line += " " + field;
  return line;
}

ProgressText progress_text(const StepState& state, base::Language language) {
  std::vector<base::Text> fields{base::say("loss {:.4f}", state.loss), rate_text(state.tokens_per_second)};
  if (state.eta_seconds >= 0 && state.step < state.total_steps)
    fields.push_back(base::say("ETA {}", base::format_duration(state.eta_seconds)));
  return {base::say("step {}/{}", state.step, state.total_steps).in(language),
          fraction_of(state.step, state.total_steps), base::in(fields, language)};
}

ProgressText progress_text(const JobState& state, base::Language language) {
  std::vector<base::Text> fields;
  if (state.eta_seconds >= 0) fields.push_back(base::say("{} left", base::format_duration(state.eta_seconds)));
  if (state.parts_reused > 0)
    fields.push_back(base::say(state.parts_reused == 1 ? base::Phrase("({} part was finished before)")
                                                       : base::Phrase("({} parts were finished before)"),
                               state.parts_reused));
  if (state.tokens > 0)
    fields.push_back(base::say(state.tokens == 1 ? base::Phrase("{} token") : base::Phrase("{} tokens"),
                               base::format_count(state.tokens)));
  return {base::say("{} {} of {}", state.what, base::format_bytes(state.done_bytes), base::format_bytes(state.total_bytes))
              .in(language),
          fraction_of(state.done_bytes, state.total_bytes), base::in(fields, language)};
}

std::string format_job_line(const JobState& state, base::Language language) {
  ProgressText text = progress_text(state, language);
  text.head += percent_of(text.fraction);
  return format_line(text);
}

int terminal_width(std::FILE* out) {
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

ProgressStyle progress_style(config::Progress setting, std::FILE* out) {
  switch (setting) {
    case config::Progress::automatic:
      return ::isatty(::fileno(out)) == 1 ? ProgressStyle::bar : ProgressStyle::lines;
    case config::Progress::bar:
      return ProgressStyle::bar;
    case config::Progress::lines:
      return ProgressStyle::lines;
    case config::Progress::none:
      return ProgressStyle::none;
  }
  throw base::BugError("a progress setting without a style");
}

void BarLine::draw(const ProgressText& text) {
  draw(format_bar(text, terminal_width(out_) - 1));  // the last column would make some terminals wrap
}

// Spaces wipe what a longer bar left.
void BarLine::draw(const std::string& bar) {
  const std::size_t columns = base::terminal_columns(bar), wipe = columns_ > columns ? columns_ - columns : 0;
  std::fprintf(out_, "\r%s%s", bar.c_str(), std::string(wipe, ' ').c_str());
  std::fflush(out_);
  columns_ = columns;
  bar_ = bar;
}

void BarLine::print(const std::string& line) {
  const bool was_drawn = drawn();
  if (was_drawn) std::fprintf(out_, "\r%s\r", std::string(columns_, ' ').c_str());
  std::fprintf(out_, "%s\n", line.c_str());
  columns_ = 0;
  if (was_drawn) draw(std::string(bar_));
  std::fflush(out_);
}

void BarLine::end() {
  if (!drawn()) return;
  std::fprintf(out_, "\n");
  std::fflush(out_);
  columns_ = 0;
}

Progress::Progress(std::FILE* out, Form form, std::int64_t done_steps, std::int64_t total_steps, double now_seconds)
    : line_(out),
      form_(std::move(form)),
      first_step_(done_steps + 1),
      total_steps_(total_steps),
      begin_seconds_(now_seconds),
      last_line_seconds_(now_seconds),
      last_kept_seconds_(now_seconds) {}

Progress::~Progress() { finish(); }

double Progress::eta_seconds(std::int64_t step, double now_seconds) const {
  const std::int64_t done = step - first_step_ + 1;
  if (done <= 0) return -1;
  return (now_seconds - begin_seconds_) / static_cast<double>(done) *
         static_cast<double>(std::max<std::int64_t>(total_steps_ - step, 0));
}

bool Progress::due(std::int64_t step, double seconds_since_last, double period) const {
  return step == first_step_ || step == total_steps_ || seconds_since_last >= period;
}

static std::string stamped(Stamps stamps, const std::string& text) {
  if (stamps == Stamps::none) return text;
  return fmt::format("{:%H:%M:%S} {}", fmt::localtime(std::time(nullptr)), text);
}

void Progress::step_done(std::int64_t step, double loss, double tokens_per_second, double now_seconds) {
  const StepState state{step, total_steps_, loss, tokens_per_second, eta_seconds(step, now_seconds)};
  if (form_.keep && due(step, now_seconds - last_kept_seconds_, seconds_between_kept)) {
    last_kept_seconds_ = now_seconds;
    form_.keep(format_line(progress_text(state)));
  }
  if (form_.style == ProgressStyle::none) return;
  const ProgressText text = progress_text(state, form_.language);
  if (form_.style == ProgressStyle::bar) return line_.draw(text);
  if (!due(step, now_seconds - last_line_seconds_, 1.0)) return;
  last_line_seconds_ = now_seconds;
  line_.print(stamped(form_.stamps, format_line(text)));
}

void Progress::note(const base::Text& text) {
  if (form_.keep) form_.keep(text.english);
  line_.print(stamped(form_.stamps, text.in(form_.language)));
}

void Progress::finish() { line_.end(); }

JobProgress::JobProgress(std::FILE* out, ProgressStyle style, double line_seconds, base::Language language)
    : style_(out == nullptr ? ProgressStyle::none : style),
      line_seconds_(line_seconds),
      language_(language),
      line_(out) {}

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
  if (style_ == ProgressStyle::bar) return line_.draw(progress_text(state, language_));
  lines_shown_ = true;
  line_.print(format_job_line(state, language_));
}

}  // namespace troika::metrics
