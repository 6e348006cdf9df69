#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troika::commands {

struct TimelineArguments {
  std::string run_dir;
  std::optional<std::int64_t> step;  // unset: the newest
  bool grid = false;
  bool summary = false;
  bool merge = false;
  bool help = false;
};

// ConfigError for anything that is not described in timeline_help().
TimelineArguments parse_timeline_arguments(const std::vector<std::string>& arguments);

}  // namespace troika::commands
