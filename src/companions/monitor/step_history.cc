#include "monitor/step_history.h"

#include <algorithm>
#include <cmath>

#include "monitor/watch.h"

namespace troika::monitor {

double Thinned::Mean::value() const {
  return finite == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(finite);
}

void Thinned::add(double value) {
  if (points_.empty() || in_last_ == neighbours_) {
    if (points_.size() == most_points) {
      for (std::size_t i = 0; i < most_points / 2; ++i) {
        const Mean &left = points_[2 * i], &right = points_[2 * i + 1];
        points_[i] = {left.sum + right.sum, left.finite + right.finite};
      }
      points_.resize(most_points / 2);
      neighbours_ *= 2;
    }
    points_.emplace_back();
    in_last_ = 0;
  }
  ++in_last_;
  if (!std::isfinite(value)) return;
  points_.back().sum += value;
  ++points_.back().finite;
}

std::vector<double> Thinned::points() const {
  std::vector<double> values;
  values.reserve(points_.size());
  for (const Mean& point : points_) values.push_back(point.value());
  return values;
}

void StepHistory::add(const metrics::StepMetrics& row) {
  if (first_step == 0) first_step = row.step;
  last_step = row.step;
  loss.add(row.loss);
  grad_norm.add(row.grad_norm);
  tokens_per_second.add(row.tokens_per_second);
  if (const auto valid = row.extra.find("valid_loss"); valid != row.extra.end()) {
    if (first_valid_step == 0) first_valid_step = row.step;
    valid_loss.add(valid->second);
    valid_step = row.step;
    last_valid_loss = valid->second;
  }
  ++seen_;
}

void StepHistory::update(const std::deque<metrics::StepMetrics>& steps, std::int64_t read) {
  const auto kept = static_cast<std::int64_t>(steps.size());
  std::int64_t fresh = read - seen_;
  const bool last_is_known = seen_ == 0 || fresh >= kept ||
                             (fresh >= 0 && steps[static_cast<std::size_t>(kept - fresh - 1)].step == last_step);
  if (!last_is_known ||
      (fresh > 0 && seen_ > 0 && steps[static_cast<std::size_t>(kept - std::min(fresh, kept))].step <= last_step)) {
    *this = StepHistory{};
    fresh = kept;
  }
  fresh = std::clamp<std::int64_t>(fresh, 0, kept);
  for (auto row = steps.end() - fresh; row != steps.end(); ++row) add(*row);
  seen_ = read;
}

namespace {

constexpr std::size_t steps_of_means = 20;
constexpr std::int64_t steps_of_wall_time = 20;  // fewer, and where in a step a sample was taken would count

struct RecentMeans {
  double tokens_per_second = not_known, step_seconds = not_known;
};

RecentMeans recent_means(const std::deque<metrics::StepMetrics>& steps) {
  double tokens = 0, seconds = 0, count = 0;
  for (auto row = steps.end() - static_cast<std::ptrdiff_t>(std::min(steps.size(), steps_of_means)); row != steps.end();
       ++row) {
    if (!std::isfinite(row->step_seconds)) continue;
    tokens += static_cast<double>(row->tokens);
    seconds += row->step_seconds;
    ++count;
  }
  if (seconds <= 0) return {};
  return {tokens / seconds, seconds / count};
}

// The seconds of a step with the saves and evaluations between steps; NaN where nothing is known.
double wall_seconds_of_step(const std::map<int, SampleWindow>& windows) {
  if (windows.empty()) return not_known;
  const SampleWindow& window = windows.begin()->second;
  if (window.first == nullptr || window.first->place.step < 1) return not_known;
  const std::int64_t steps = window.last->place.step - window.first->place.step;
  return steps < steps_of_wall_time ? not_known : window.seconds() / static_cast<double>(steps);
}

std::int64_t count_of(const metrics::StepMetrics& row, const char* name) {
  const auto found = row.extra.find(name);
  return found == row.extra.end() || !std::isfinite(found->second) ? -1 : std::llround(found->second);
}

std::int64_t events_of(const records::RunReader& run, records::EventKind kind) {
  return std::count_if(run.events().begin(), run.events().end(),
                       [&](const records::Event& event) { return event.kind == kind; });
}

void add_last_row(const records::RunReader& run, Progress* progress) {
  const metrics::StepMetrics& last = run.steps().back();
  progress->step = last.step;
  progress->tokens = last.tokens_total;
  progress->loss = last.loss;
  progress->grad_norm = last.grad_norm;
  progress->lr = last.lr;
  if (const auto scale = last.extra.find("loss_scale"); scale != last.extra.end()) progress->loss_scale = scale->second;
  const std::int64_t skipped = count_of(last, "skipped_steps"), repeated = count_of(last, "steps_repeated");
  progress->skipped_steps = skipped >= 0 ? skipped : events_of(run, records::EventKind::skipped_step);
  progress->repeated_steps = repeated >= 0 ? repeated : events_of(run, records::EventKind::repeated_step);
}

void add_curves(const StepHistory& history, Progress* progress) {
  progress->loss_curve = {history.loss.points(), history.first_step, history.last_step};
  progress->grad_norm_curve = {history.grad_norm.points(), history.first_step, history.last_step};
  progress->tokens_per_second_curve = {history.tokens_per_second.points(), history.first_step, history.last_step};
  progress->valid_loss_curve = {history.valid_loss.points(), history.first_valid_step, history.valid_step};
  progress->valid_loss = history.last_valid_loss;
  progress->valid_step = history.valid_step;
}

}  // namespace

Progress progress_of(const Observed& observed, const std::map<int, SampleWindow>& windows, const View& view) {
  const records::RunReader& run = observed.run;
  Progress progress;
  if (run.state()) {
    progress.steps = run.state()->steps;
    progress.step = run.state()->first_step;
  }
  if (run.steps().empty()) return progress;
  add_last_row(run, &progress);
  add_curves(observed.history, &progress);
  const RecentMeans means = recent_means(run.steps());
  progress.tokens_per_second = means.tokens_per_second;
  progress.step_seconds = means.step_seconds;
  if (view.condition == Condition::finished) {
    progress.eta_seconds = 0;
  } else if (!is_over(view.condition) && view.silent_seconds <= 0 && progress.steps > 0) {
    const double wall = wall_seconds_of_step(windows);
    progress.eta_seconds = static_cast<double>(std::max<std::int64_t>(0, progress.steps - progress.step)) *
                           (std::isfinite(wall) ? wall : means.step_seconds);
  }
  return progress;
}

}  // namespace troika::monitor
