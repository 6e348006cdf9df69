// The command line of `troika sweep`: the settings of train, and these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"

namespace troika::commands {

struct SweepArguments {
  std::int64_t nproc = 1;
  std::optional<std::int64_t> best;  // layouts that are run; unset: all that fit
  std::optional<double> deadline_seconds;
  std::string cluster;  // a file; empty: this machine
  bool dry_run = false;
  std::string program;  // of the ranks, for tests; empty: troika
  config::ParsedSettings parsed;

  std::int64_t steps() const;  // of each layout; 5 unless the command line says otherwise
  std::string folder() const;  // runs/sweep unless the command line says otherwise
};

config::FlagTable sweep_flags(SweepArguments& a);
SweepArguments parse_sweep(const std::vector<std::string>& words, const config::Environment& environment);

}  // namespace troika::commands
