#include "sweep/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/say.h"
#include "base/units.h"
#include "planner/layout.h"

namespace troika::sweep {

void TimeLeft::begin(double predicted_step_seconds) {
  running_seconds_ = run_seconds(predicted_step_seconds);
  running_ = 1;
  waiting_seconds_ -= running_seconds_;
  --waiting_;
}

void TimeLeft::finished(const SweepRow& row) {
  running_ = 0;
  running_seconds_ = 0;
  if (!row.measured) return;
  beside_seconds_ += std::max(0.0, row.seconds - run_seconds(row.measured->step_seconds));
  ++measured_;
}

double TimeLeft::seconds(double of_the_running) const {
  const double running = running_ > 0 ? std::max(0.0, running_seconds_ + beside() - of_the_running) : 0;
  return running + std::max(0.0, waiting_seconds_) + waiting_ * beside();
}

std::string SweepProgress::head(std::size_t number, const std::string& name) const {
  return fmt::format("{}/{} {}:", number, layouts_, name);
}

void SweepProgress::preparing(const std::string& line) {
  if (style_ == metrics::ProgressStyle::none || line == prepared_ || line.rfind("tokenizing", 0) != 0) return;
  prepared_ = line;
  line_.print(line);
}

void SweepProgress::running(std::size_t number, const std::string& name, double seconds_left) {
  if (style_ != metrics::ProgressStyle::bar) return;
  const double done = static_cast<double>(number - 1) / static_cast<double>(layouts_);
  line_.draw({head(number, name), done, {base::say("{} left", base::format_duration(seconds_left)).in(language_)}});
}

void SweepProgress::finished(std::size_t number, const SweepRow& row, double seconds_left) {
  const bool lines = style_ == metrics::ProgressStyle::lines;
  if (!lines && (row.measured || style_ == metrics::ProgressStyle::none)) return;
  const std::string line = head(number, planner::name_of(row.layout)) + " " + outcome_of(row).in(language_);
  const bool more = lines && number < layouts_;
  line_.print(more ? base::say("{}; {} left", line, base::format_duration(seconds_left)).in(language_) : line);
}

base::Text outcome_of(const SweepRow& row) {
  if (!row.measured) return base::verbatim(fmt::format("{}: {}", config::word_of(row.status), row.reason));
  return base::say("{} a step, {} positions/s (plan {})", base::format_duration(row.measured->step_seconds),
                     base::format_count(std::llround(row.measured->tokens_per_second)),
                     base::format_duration(row.predicted.step_seconds));
}

}  // namespace troika::sweep
