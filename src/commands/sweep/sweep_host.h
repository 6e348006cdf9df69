// What a host of a sweep needs to run any layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/flag_table.h"
#include "config/settings.h"
#include "launch/flags.h"
#include "launch/launcher.h"

namespace troika::commands {

struct SweepHost {
  config::Settings settings;  // measuring_settings
  std::int64_t nproc = 1;     // on each host
  launch::HostOptions hosts;
  std::string folder;                      // of this host
  std::optional<double> deadline_seconds;  // unset: by what is predicted
  config::Environment environment;         // of the processes
  std::string troika = "/proc/self/exe";
  std::string program;  // as SweepArguments
  launch::Speaker speaker{"troika sweep"};

  std::int64_t world() const { return nproc * hosts.nnodes; }
};

}  // namespace troika::commands
