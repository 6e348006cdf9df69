// The course of the losses and rates of a run, in a bounded number of points however many steps there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "metrics/step_metrics.h"

namespace troika::monitor {

// A series thinned while it grows: at most `most_points` means of equally many neighbours each. Numbers that are not finite
// count only where all neighbours are not.
class Thinned {
 public:
  static constexpr std::size_t most_points = 512;

  void add(double value);
  std::vector<double> points() const;  // in order; NaN where nothing finite was

 private:
  struct Mean {
    double sum = 0;
    std::int64_t finite = 0;
    double value() const;
  };

  std::vector<Mean> points_;
  std::int64_t neighbours_ = 1;  // of a point
  std::int64_t in_last_ = 0;     // values in the last point
};

struct StepHistory {
  Thinned loss, grad_norm, tokens_per_second, valid_loss;
  std::int64_t first_step = 0, last_step = 0;  // 0: none
  std::int64_t first_valid_step = 0, valid_step = 0;
  double last_valid_loss = std::numeric_limits<double>::quiet_NaN();

  // Takes the rows that it has not seen. `read`: how many there were since the file began, the last of which are in `steps`.
  // A file that was cut and continued, as a resume does, is taken from the start again.
  void update(const std::deque<metrics::StepMetrics>& steps, std::int64_t read);

 private:
  void add(const metrics::StepMetrics& row);

  std::int64_t seen_ = 0;
};

}  // namespace troika::monitor
