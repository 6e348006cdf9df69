// A run that is looked at again and again: reads what was written since, and makes the view of it.
#pragma once

#include <map>
#include <string>

#include "monitor/step_history.h"
#include "monitor/view.h"
#include "records/run_reader.h"

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

}  // namespace troika::monitor
