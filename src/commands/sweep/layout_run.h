// The runs of a host in a sweep: a layout, and before the first one the preparation of the data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/sweep/rounds.h"
#include "host/signals.h"
#include "planner/estimate.h"
#include "rendezvous/failure_report.h"
#include "sweep/report.h"
#include "sweep/row.h"

namespace troika::commands {

// The settings of a training for a few steps that are only measured: the last one is recorded, nothing is saved or evaluated.
// Data are prepared in FOLDER/data unless the settings name a place.
config::Settings measuring_settings(config::Settings settings, std::int64_t steps, const std::string& folder);

// "dp2-pp1-tp1-cp1-zero1-1f1b-v1-mb4-recompute_none-offload_none-fp32"
std::string folder_name_of(const planner::Layout& layout);

double deadline_of(const SweepHost& host, const sweep::SweepPredicted& predicted);

// The part of a host in a round.
class HostPart {
 public:
  // About ten times a second, with the seconds since the start.
  using OnMoment = std::function<void(double)>;

  HostPart(const SweepHost& host, SweepRounds& rounds, host::Signals& signals)
      : host_(host), rounds_(rounds), signals_(signals) {}

  // Tokenizes, so that no layout's time has it. `on_line` gets the last line of its log. Nothing when that went well, else why not:
  // 130 at a stop signal, here or elsewhere. What does not end well ends on the other hosts, too.
  std::optional<rendezvous::FailureReport> prepare_data(const std::function<void(const std::string&)>& on_line) const;

  // Runs row.layout in FOLDER/runs/NAME, fresh, with the settings beside it in NAME.yaml; row.predicted gives the deadline. The row
  // says how that ended; `measure` reads what a run that ended well has left in its folder (DataError: nothing good). Interrupted:
  // by a stop signal, here or elsewhere. A run that does not end well ends on the other hosts, too.
  sweep::SweepRow run_layout(sweep::SweepRow row, const std::function<sweep::SweepMeasured(const std::string&)>& measure,
                      const OnMoment& on_moment) const;

 private:
  const SweepHost& host_;
  SweepRounds& rounds_;
  host::Signals& signals_;
};

// Runs the layouts of a sweep one after the other: on host 0 a row of FOLDER/summary.csv for each, on other hosts what it says.
struct SweepPlan {
  SweepHost host;                            // host 0
  std::vector<planner::Estimate> estimates;  // in the order to run; all of one global batch
};

sweep::SweepStep step_of(const SweepPlan& plan);

struct SweepOutcome {
  sweep::SweepRows rows;  // of the file, in its order: those of earlier calls too
  rendezvous::FailureReport
      end;  // code 0; 130: a host was asked to stop; 75 or a host's own: why the sweep cannot continue
};

// Every host prepares its data; then each layout has FOLDER/runs/NAME, fresh. The file is written whole after each. A layout that
// has a row is not run again (sweep/row.h); its row gets today's prediction. ConfigError when the folder holds another sweep, or another
// process works in it; whatever ends the preparation on this host.
SweepOutcome run_layouts(const SweepPlan& plan, SweepRounds& rounds, host::Signals& signals, sweep::SweepProgress& progress);

// On a host other than 0: until host 0 has ended. What it ended with, or throws why it goes no further here, which ends all hosts.
rendezvous::FailureReport follow_layouts(const SweepHost& host, SweepRounds& rounds, host::Signals& signals);

}  // namespace troika::commands
