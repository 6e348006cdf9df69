// The log file of one rank, logs/rank-00000.log: one line per event with time, level and rank.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/language.h"
#include "config/choices.h"
#include "metrics/step_metrics.h"

namespace troika::metrics {

using config::LogLevel;

// Lines look like "2025-03-01 12:00:00.123 info rank 2: text". Appends: further attempts of a run follow in the same
// file. Each line is flushed at once. Rank 0 also writes warnings and errors to stderr. Threads: safe.
class RunLog {
 public:
  // `folder` is RUN/logs, created when absent. DataError when the file cannot be opened.
  RunLog(const std::string& folder, int rank, LogLevel level);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void debug(const std::string& text);
  void info(const std::string& text);
  void warn(const std::string& text);
  void error(const std::string& text);
  const std::string& path() const { return path_; }

 private:
  struct Sinks;
  std::string path_;
  std::unique_ptr<Sinks> sinks_;
};

std::string rank_log_name(int rank);  // "rank-00000.log"

// metrics.jsonl of a run under way, on a disk that may be full or failing for a while.
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

// Calls neither wait nor throw: what cannot be written is dropped. Threads: one.
class RowSink {
 public:
  RowSink() = default;
  virtual ~RowSink() = default;  // without finish() the run has failed
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;

  // The row of `step` + 1 comes next: at the start, after a resume, and after the run has gone back.
  virtual void begin_after(std::int64_t step) = 0;
  // Returns what is to be told to the user, once: a sentence when something is dropped, else none.
  virtual base::Text append(const StepMetrics& row) = 0;
  virtual void finish() = 0;  // after the last row of a run that ends well
};

}  // namespace troika::metrics
