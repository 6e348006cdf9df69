// Runs the layouts of a sweep one after the other: on host 0 a row of FOLDER/summary.csv for each, on other hosts what it says.
#pragma once

#include <string>
#include <vector>

#include "commands/sweep/rounds.h"
#include "commands/sweep/sweep_host.h"
#include "host/signals.h"
#include "planner/estimate.h"
#include "rendezvous/failure_report.h"
#include "sweep/report.h"
#include "sweep/row.h"

namespace troika::commands {

struct SweepPlan {
  SweepHost host;                            // host 0
  std::vector<planner::Estimate> estimates;  // in the order to run; all of one global batch
};

sweep::SweepStep step_of(const SweepPlan& plan);

struct SweepOutcome {
  sweep::SweepRows rows;  // of the file, in its order: those of earlier calls too
  rendezvous::FailureReport
      end;  // code 0; 130: a host was asked to stop; 75 or a host's own: why the sweep cannot go on
};

// Every host prepares its data; then each layout has FOLDER/runs/NAME, fresh. The file is written whole after each. A layout that
// has a row is not run again (kept.h); its row gets today's prediction. ConfigError when the folder holds another sweep, or another
// process works in it; whatever ends the preparation on this host.
SweepOutcome run_layouts(const SweepPlan& plan, SweepRounds& rounds, host::Signals& signals, sweep::SweepProgress& progress);

// On a host other than 0: until host 0 has ended. What it ended with, or throws why it goes no further here, which ends all hosts.
rendezvous::FailureReport follow_layouts(const SweepHost& host, SweepRounds& rounds, host::Signals& signals);

}  // namespace troika::commands
