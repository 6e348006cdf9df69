// The log file of one rank, logs/rank-00000.log: one line per event with time, level and rank.
#pragma once

#include <memory>
#include <string>

#include "config/choices.h"

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

}  // namespace troika::metrics
