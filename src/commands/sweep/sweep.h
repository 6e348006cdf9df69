// `troika sweep`: trains every layout that fits for a few steps, and shows what was measured beside what was planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/config.h"
#include "launch/flags.h"

namespace troika::commands {

// Writes the folder that docs/formats/sweep.md describes, progress to stderr, the table and the best to stdout. 0 when a layout
// was measured, 75 when none was or a host is gone, 130 when a signal ended it; hosts other than 0 end with its code. ConfigError
// for wrong words or when no layout fits.
int run_sweep(const Call& call);

// The command line of `troika sweep`: the settings of train, and these.
struct SweepArguments {
  std::int64_t nproc = 1;  // on each host
  launch::HostFlags host_flags;
  launch::HostOptions hosts;         // what they come to
  std::optional<std::int64_t> best;  // layouts that are run; unset: all that fit
  std::optional<double> deadline_seconds;
  std::string cluster;  // a file; empty: this machine
  bool dry_run = false;
  std::string program;  // of the ranks, for tests; empty: troika
  config::ParsedSettings parsed;

  std::int64_t steps() const;  // of each layout; 5 unless the command line says otherwise
  // runs/sweep unless the command line says otherwise; of other hosts than 0 host-K below it, as they may share a disk.
  std::string folder() const;
};

config::FlagTable sweep_flags(SweepArguments& a);
SweepArguments parse_sweep(const std::vector<std::string>& words, const config::Environment& environment);

}  // namespace troika::commands
