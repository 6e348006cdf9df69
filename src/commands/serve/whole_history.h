// The course of all steps of a run, however many there are, while no more than its last rows are kept.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "commands/monitor/step_history.h"
#include "commands/serve/line_chunks.h"

namespace troika::commands::serve {

// Threads: one.
class WholeHistory {
 public:
  explicit WholeHistory(std::string folder) : folder_(std::move(folder)) {}

  void refresh();  // reads what is new in metrics.jsonl
  const monitor::StepHistory& steps() const { return history_; }

 private:
  void take(std::deque<metrics::StepMetrics>& rows);

  const std::string folder_;
  monitor::StepHistory history_;
  LinesRead read_;
  std::uint64_t device_ = 0, inode_ = 0;
  std::int64_t rows_ = 0;  // that were read
};

}  // namespace troika::commands::serve
