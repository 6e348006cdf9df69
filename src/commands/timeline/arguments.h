// The command line of `troika timeline`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::commands {

struct TimelineArguments {
  std::string run_dir;
  std::optional<std::int64_t> step;  // unset: the newest
  bool grid = false;
  bool summary = false;
  bool merge = false;
};

config::FlagTable timeline_flags(TimelineArguments& a);
TimelineArguments parse_timeline_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
