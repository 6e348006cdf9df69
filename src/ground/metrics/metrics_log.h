// metrics.jsonl of a run under way, on a disk that may be full or failing for a while.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/language.h"
#include "metrics/step_metrics.h"

namespace troika::metrics {

class MetricsLog {
 public:
  explicit MetricsLog(std::string path) : path_(std::move(path)), file_(path_) {}  // opens nothing

  void cut_after(std::int64_t step) const { file_.cut_after(step); }

  // Writes the row, or keeps it until the disk takes it; rows stay in order. Returns what is to be told: a sentence when rows begin
  // to wait and one when they have been written, else none.
  base::Text append(const StepMetrics& row);

 private:
  bool write_first() const;

  const std::string path_;
  const MetricsFile file_;
  std::deque<StepMetrics> waiting_;
  mutable base::Text cause_;
};

}  // namespace troika::metrics
