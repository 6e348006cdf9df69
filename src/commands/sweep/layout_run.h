// What a host of a sweep runs: a layout, and before the first one the preparation of the data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "commands/sweep/rounds.h"
#include "commands/sweep/sweep_host.h"
#include "host/signals.h"
#include "sweep/row.h"

namespace troika::commands {

// The settings of a training for a few steps that are only measured: the last one is recorded, nothing is saved or evaluated.
// Data are prepared in FOLDER/data unless the settings name a place.
config::Settings measuring_settings(config::Settings settings, std::int64_t steps, const std::string& folder);

// "dp2-pp1-tp1-cp1-zero1-1f1b-v1-mb4-recompute_none-offload_none-fp32"
std::string folder_name_of(const planner::Layout& layout);

double deadline_of(const SweepHost& host, const sweep::SweepPredicted& predicted);

// What a host does in a round.
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

}  // namespace troika::commands
