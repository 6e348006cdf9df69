// The course of all steps of a run, however many there are, while no more than its last rows are kept.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "monitor/step_history.h"
#include "serve/column_cache.h"
#include "serve/run_file.h"

namespace troika::serve {

// Threads: one.
class WholeHistory {
 public:
  // `cache`, which must outlive it, reads the rows for whoever else asks for them, too.
  WholeHistory(std::string folder, ColumnCache& cache) : folder_(std::move(folder)), cache_(cache) {}

  void refresh();  // what is new in metrics.jsonl
  const monitor::StepHistory& steps() const { return history_; }

 private:
  void follow(const Columns& columns);

  const std::string folder_;
  ColumnCache& cache_;
  monitor::StepHistory history_;
  std::optional<RunFile::Facts> facts_;  // of the file, as it was read
  std::int64_t rows_ = 0;                // of it that are in the history
};

}  // namespace troika::serve
