// metrics.jsonl: one line per step, each step once. One process writes (the host of world rank 0); others may read
// meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/step_metrics.h"

namespace troika::metrics {

class MetricsFile {
 public:
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}  // opens nothing

  // One write call, so that a reader never sees a part of a line unless the disk is full. DataError with path and
  // cause.
  void append(const StepMetrics& metrics) const;

  // Drops the rows of steps later than `step` and a last line torn by a crash; nothing changes when there is nothing to
  // drop. Atomic. An absent file stays absent. DataError when a line before the last is not a row.
  void cut_after(std::int64_t step) const;

  // All rows, in file order; a torn last line is left out. Empty when the file is absent.
  std::vector<StepMetrics> read() const;

 private:
  std::string path_;
};

}  // namespace troika::metrics
