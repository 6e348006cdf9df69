#include "monitor/step_history.h"

#include <algorithm>
#include <cmath>

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

}  // namespace troika::monitor
