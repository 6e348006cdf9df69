// How a long job over files shows on the screen, such as tokenizing.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "metrics/bar.h"
#include "metrics/progress.h"

namespace troika::metrics {

struct JobState {
  std::string what;  // "tokenizing"
  std::int64_t done_bytes = 0, total_bytes = 0;
  std::int64_t tokens = 0;          // 0: not shown
  std::int64_t parts_taken_up = 0;  // finished by an earlier process; 0: not shown
  double eta_seconds = -1;          // below 0: not known
};

// "tokenizing 40.0 MiB of 50.0 MiB [====>  ]  80% 3 s left (12 parts were there) 12.3 M tokens": at most `width` columns;
// fields go from the right, so that a bar of 10 columns has room; where it has none even so, it goes too.
std::string format_job_bar(const JobState& state, int width);
std::string format_job_line(const JobState& state);  // the same without bar and bound

// Jobs shorter than half a second show nothing. A bar is drawn ten times a second at most; lines come every
// `line_seconds`, and at the end where one came before. One thread.
class JobProgress {
 public:
  // `out` may be null: silent. It must outlive the object.
  JobProgress(std::FILE* out, ProgressStyle style, double line_seconds);
  ~JobProgress();  // goes on behind a bar
  JobProgress(const JobProgress&) = delete;
  JobProgress& operator=(const JobProgress&) = delete;

  // eta_seconds is set here. Another total is another job.
  void show(JobState state, double now_seconds);

 private:
  void begin(const JobState& state, double now_seconds);
  bool due(const JobState& state, double now_seconds) const;

  const ProgressStyle style_;
  const double line_seconds_;
  std::FILE* out_;
  RewrittenLine line_;
  double begin_seconds_ = -1, shown_seconds_ = -1;  // below 0: not yet
  std::int64_t begin_bytes_ = 0, total_bytes_ = 0;
  bool lines_shown_ = false;
};

}  // namespace troika::metrics
