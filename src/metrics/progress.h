// How a run shows on the screen: a bar that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "metrics/bar.h"

namespace troika::metrics {

struct ProgressState {
  std::int64_t step = 0;  // steps done
  std::int64_t total_steps = 0;
  double loss = 0;
  double tokens_per_second = 0;
  double eta_seconds = -1;  // until the last step; below 0: not known yet
};

// "step 10/200 [=>       ]   5% loss 4.1250 12.3 K tok/s ETA 3 min 20 s": at most `width` columns, ASCII. The bar
// shrinks first and disappears below 5 columns; then fields go from the right.
std::string format_bar(const ProgressState& state, int width);

// "step 10/200 loss 4.1250 12.3 K tok/s ETA 3 min 20 s", without newline.
std::string format_line(const ProgressState& state);

int terminal_width(std::FILE* out);  // columns; 80 when it cannot be told
enum class ProgressStyle { bar, lines, none };

// "auto" (bar on a terminal, lines elsewhere), "bar", "lines", "none", as in the setting log.progress. ConfigError
// otherwise.
ProgressStyle progress_style(const std::string& name, std::FILE* out);

// Draws to `out`, which must outlive it. Lines come at most one per second, and always for the first and the last step.
// Threads: one. Never throws for a closed or full output.
class Progress {
 public:
  // `done_steps` were finished before (a resume). `now_seconds` of all calls is one monotonic clock.
  Progress(std::FILE* out, ProgressStyle style, std::int64_t done_steps, std::int64_t total_steps, double now_seconds);
  ~Progress();  // as finish()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step_done(std::int64_t step, double loss, double tokens_per_second, double now_seconds);

  // Prints a line of other text without tearing the bar.
  void note(const std::string& text);

  void finish();  // ends a drawn bar with a newline; further calls do nothing

 private:
  double eta_seconds(std::int64_t step, double now_seconds) const;

  std::FILE* out_;
  RewrittenLine line_;
  ProgressStyle style_;
  std::int64_t first_step_, total_steps_;
  double begin_seconds_, last_line_seconds_;
};

}  // namespace troika::metrics
