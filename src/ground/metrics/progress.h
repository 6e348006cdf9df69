// How a run or a long job shows on the screen: a bar that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/choices.h"

namespace troika::metrics {

// The source of both forms.
struct ProgressText {
  std::string head;                 // "step 10/200"
  double fraction = 0;              // of the work that is done, 0 to 1
  std::vector<std::string> fields;  // the most important first
};

// "HEAD [=====>    ]  50% FIELD FIELD": at most `width` columns. The bar shrinks first and disappears below 5 columns;
// then fields are left out, the last one first.
std::string format_bar(const ProgressText& text, int width);
std::string format_line(const ProgressText& text);  // "HEAD FIELD FIELD", without newline

struct StepState {
  std::int64_t step = 0;  // steps done
  std::int64_t total_steps = 0;
  double loss = 0;
  double tokens_per_second = 0;
  double eta_seconds = -1;  // until the last step; below 0: not known yet
};
// "step 10/200", "loss 4.1250", "12.3 K tokens/s", "ETA 3 min 20 s".
ProgressText progress_text(const StepState& state, base::Language language = base::Language::english);

struct JobState {
  base::Text what;  // "tokenizing"
  std::int64_t done_bytes = 0, total_bytes = 0;
  std::int64_t tokens = 0;        // 0: not shown
  std::int64_t parts_reused = 0;  // finished by an earlier process; 0: not shown
  double eta_seconds = -1;        // below 0: not known
};
// "tokenizing 40.0 MiB of 50.0 MiB", "3 s left", ...
ProgressText progress_text(const JobState& state, base::Language language = base::Language::english);
// format_line with the percentage after the head.
std::string format_job_line(const JobState& state, base::Language language = base::Language::english);

int terminal_width(std::FILE* out);  // columns; 80 when it cannot be told
enum class ProgressStyle { bar, lines, none };

// The style for the setting log.progress; automatic: a bar on a terminal, lines elsewhere.
ProgressStyle progress_style(config::Progress setting, std::FILE* out);

// The line of the screen that a bar is drawn on. Threads: one. Never throws for a closed or full output.
class BarLine {
 public:
  explicit BarLine(std::FILE* out) : out_(out) {}

  void draw(const ProgressText& text);  // over what is there
  void print(const std::string& line);  // a line of other text; the bar, if there is one, is drawn again below it
  void end();                           // ends a drawn bar with a newline
  bool drawn() const { return columns_ > 0; }

 private:
  void draw(const std::string& bar);

  std::FILE* out_;
  std::size_t columns_ = 0;
  std::string bar_;
};

// Whether a line begins with the local time of day.
enum class Stamps { none, time_of_day };

// Progress over the steps of a run. Draws to `out`, which must outlive it. Lines come at most one per second, and
// always for the first and the last step. Threads: one.
class Progress {
 public:
  struct Form {
    ProgressStyle style = ProgressStyle::lines;
    Stamps stamps = Stamps::none;
    // Also told, in English, every note, and a line of the steps every 10 s, at the first and at the last, whatever the style. May be empty.
    std::function<void(const std::string& line)> keep{};
    base::Language language = base::Language::english;  // on the screen
  };
  // `done_steps` were finished before (a resume). `now_seconds` of all calls is one monotonic clock.
  Progress(std::FILE* out, Form form, std::int64_t done_steps, std::int64_t total_steps, double now_seconds);
  ~Progress();  // as finish()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step_done(std::int64_t step, double loss, double tokens_per_second, double now_seconds);
  void note(const base::Text& text);   // prints a line of other text without tearing the bar
  void finish();                       // ends a drawn bar with a newline; further calls do nothing

 private:
  double eta_seconds(std::int64_t step, double now_seconds) const;
  bool due(std::int64_t step, double seconds_since_last, double period) const;

  BarLine line_;
  const Form form_;
  std::int64_t first_step_, total_steps_;
  double begin_seconds_, last_line_seconds_, last_kept_seconds_;
};

// Progress of a long job over files, such as tokenizing. Jobs shorter than half a second show nothing. A bar is drawn
// at most ten times a second; lines come every `line_seconds`, and at the end where one came before. Threads: one.
class JobProgress {
 public:
  // `out` may be null: silent. It must outlive the object.
  JobProgress(std::FILE* out, ProgressStyle style, double line_seconds, base::Language language);
  ~JobProgress();  // ends a drawn bar with a newline
  JobProgress(const JobProgress&) = delete;
  JobProgress& operator=(const JobProgress&) = delete;

  // eta_seconds is set here. Another total is another job.
  void show(JobState state, double now_seconds);

 private:
  void begin(const JobState& state, double now_seconds);
  bool due(const JobState& state, double now_seconds) const;

  const ProgressStyle style_;
  const double line_seconds_;
  const base::Language language_;
  BarLine line_;
  double begin_seconds_ = -1, shown_seconds_ = -1;  // below 0: not yet
  std::int64_t begin_bytes_ = 0, total_bytes_ = 0;
  bool lines_shown_ = false;
};

}  // namespace troika::metrics
