// Tells people, files and the heartbeat how a run goes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "base/cause.h"
#include "config/settings/settings.h"
#include "metrics/progress.h"
#include "metrics/run_log.h"
#include "records/line_file.h"
#include "records/event.h"
#include "train/rank_context.h"
#include "train/run_records.h"
#include "train/train_state.h"
#include "train/rank_activity.h"

namespace troika::train {

// The listeners of a rank's run; each outlives the reporter, and null is nobody.
struct Listeners {
  std::FILE* screen = nullptr;     // progress and notes of rank 0
  metrics::RunLog* log = nullptr;  // of the rank
  RunRecords* records = nullptr;
  metrics::RowSink* rows = nullptr;                   // of rank 0: gets the rows of metrics.jsonl too
  RankActivity* rank_activity = nullptr;                 // of the rank
  base::Language language = base::Language::english;  // of the screen; all else is in English
};

// One rank's thread. References must outlive it.
class RunReporter {
 public:
  // An empty train.out: no rows are written. Events are those of the step that `state` has come to.
  RunReporter(const config::Settings& settings, int world_rank, const TrainState& state, const Listeners& listeners);

  void begins(std::int64_t steps, double now_seconds);  // from here on progress is shown
  void ends();

  void note(const base::Text& text);
  void record(records::EventKind kind, const base::Text& text, const std::map<std::string, double>& numbers = {},
              base::Cause cause = base::Cause{});
  // Where the rank is.
  void tell(std::int64_t step, records::Activity activity) const;
  void tell_saving(records::Activity activity) const;

  // The row of `step` + 1 comes next.
  void begin_rows_after(std::int64_t step);
  void report(const metrics::StepMetrics& row);  // of rank 0

  bool first_rank() const { return world_rank_ == 0; }
  bool writes() const { return !settings_.train.out.empty(); }

 private:
  const config::Settings& settings_;
  const int world_rank_;
  const TrainState& state_;
  const Listeners to_;
  metrics::MetricsLog metrics_;
  std::unique_ptr<metrics::Progress> progress_;  // null: none is shown
};

// The messages of a rank while it may be unable to move: to its log, and to the screen. A thread of its own writes them, so
// that who speaks, such as its heartbeat, never waits for a disk that does not answer.
// Threads: every call from any. Its end waits 2 s at most for what is not written yet.
class RankReporter {
 public:
  explicit RankReporter(const RankContext& context);
  RankReporter(const RankReporter&) = delete;
  RankReporter& operator=(const RankReporter&) = delete;

  void log(const std::string& text);    // to the log, in English
  void notice(const base::Text& text);  // and to rank 0's screen
  void answer(const base::Text& text);  // and to stderr, unless that is the log because our launcher made it so

 private:
  void say(const base::Text& text, std::FILE* screen);  // null: to the log alone

  const std::string folder_;  // of the log; "": there is none
  const int rank_;
  const config::LogLevel level_;
  const base::Language language_;  // of the screen
  std::FILE *const screen_of_notices_, *const screen_of_answers_;
  records::BackgroundDisk disk_;
};

}  // namespace troika::train
