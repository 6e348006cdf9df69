// A sweep in words: the table at its end, and what was best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "metrics/progress.h"
#include "sweep/row.h"

namespace troika::sweep {

// A line for each row, the best first, measured beside predicted; of a long list its beginning.
std::string sweep_table(const SweepRows& rows, base::Language language);

// The layouts that would be run, in this order.
std::string dry_run_table(const std::vector<planner::Estimate>& estimates, const SweepStep& step, base::Language language);

// "840 layouts of 12 samples a step, 5 steps each: about 43 min 10 s", as predicted and with 3 s for a start.
base::Text sweep_size(const std::vector<planner::Estimate>& estimates, const SweepStep& step);

// "The best is dp 2, zero 1: 5769 positions/s, a step in 0.213 s; the plan said 0.200 s. The plan's first choice was pp 2: 5600
// positions/s, 2.9 % less than the best." `first`: what the plan names first.
base::Text sweep_conclusion(const SweepRows& rows, const planner::Layout& first);

// Where a sweep is: one line that redraws itself on a terminal, a line for each layout elsewhere.

// How long the layouts of a sweep still take: their steps as predicted, and what a run takes beside its steps as it was so far.
class TimeLeft {
 public:
  explicit TimeLeft(std::int64_t steps) : steps_(steps) {}

  void add(double predicted_step_seconds) { waiting_seconds_ += run_seconds(predicted_step_seconds), ++waiting_; }
  void begin(double predicted_step_seconds);
  void finished(const SweepRow& row);
  double seconds(double of_the_running) const;  // since its start

 private:
  double run_seconds(double step_seconds) const { return step_seconds * static_cast<double>(steps_); }
  double beside() const { return measured_ > 0 ? beside_seconds_ / measured_ : 3; }

  std::int64_t steps_;
  double waiting_seconds_ = 0, running_seconds_ = 0, beside_seconds_ = 0;
  int waiting_ = 0, running_ = 0, measured_ = 0;
};

class SweepProgress {
 public:
  // `out` outlives it.
  SweepProgress(std::FILE* out, metrics::ProgressStyle style, std::size_t layouts, base::Language language)
      : line_(out), style_(style), layouts_(layouts), language_(language) {}
  ~SweepProgress() { line_.end(); }
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  void preparing(const std::string& line);  // as the preparation says it
  // `number` from 1.
  void running(std::size_t number, const std::string& name, double seconds_left);
  void finished(std::size_t number, const SweepRow& row, double seconds_left);

 private:
  std::string head(std::size_t number, const std::string& name) const;

  metrics::BarLine line_;
  metrics::ProgressStyle style_;
  std::size_t layouts_;
  base::Language language_;
  std::string prepared_;  // the last line
};

// "0.123 s a step, 5.8 K positions/s (plan 0.110 s)", or "failed: REASON".
base::Text outcome_of(const SweepRow& row);

// A sweep as pictures for papers and mail: FOLDER/plots, SVG files that show what the page of `troika serve` shows.
// "throughput", "memory" and "shares" of the fastest 40 layouts that were measured, the fastest first; empty where none
// was. A picture refers to no other file.
std::map<std::string, std::string> sweep_plots(const SweepRows& rows, const SweepStep& step);

}  // namespace troika::sweep
