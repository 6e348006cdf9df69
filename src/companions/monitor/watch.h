// A run that is looked at again and again: reads what was written since, and makes the view of it.
#pragma once

#include <map>
#include <string>

#include "monitor/step_history.h"
#include "monitor/view.h"
#include "records/run_reader.h"
#include "records/sample.h"

namespace troika::monitor {

// Everything a view is computed from.
struct Observed {
  const records::RunReader& run;
  const StepHistory& history;
  // When a rank's last sample came, since 1970, by the clock of `now`: hosts have clocks of their own. Where a rank has none, the
  // sample's own time counts.
  std::map<int, double> heard;
  double now = 0;
};

View view_of(const Observed& observed);

// As Observed::heard has it, by when the files of samples were written.
std::map<int, double> heard_in(const records::RunReader& run);

// Threads: one.
class RunWatch {
 public:
  explicit RunWatch(const std::string& folder);  // which need not be a run yet

  View look(double now);

 private:
  records::RunReader run_;
  StepHistory history_;
};

// Of each rank's samples those that tell of now.
struct SampleWindow {
  const records::Sample* last = nullptr;
  const records::Sample* first =
      nullptr;       // an earlier one of the same attempt, at most a minute; nullptr: there is none
  double heard = 0;  // when the last one came, since 1970

  // Of a counter that begins with the attempt; without a first sample, since then.
  template <class Count>
  auto difference(const Count& count) const {
    return first == nullptr ? count(*last) : count(*last) - count(*first);
  }
  double seconds() const { return first == nullptr ? 0 : last->elapsed_seconds - first->elapsed_seconds; }
};

// Of the attempt that state.json names, else of the newest. They point into `observed.run`.
std::map<int, SampleWindow> windows_of(const Observed& observed);

double sample_interval(const records::RunReader& run);  // seconds
// Whether no sample has come for three intervals.
bool is_silent(const SampleWindow& window, const Observed& observed);

}  // namespace troika::monitor
