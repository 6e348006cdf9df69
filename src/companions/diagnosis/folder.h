// What lies in a run's folder beside its records: settings of its attempts, checkpoints, logs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "diagnosis/facts.h"

namespace troika::diagnosis {

struct SettingsFound {
  std::optional<config::Settings> last,
      before;  // of config.yaml, config-2.yaml, ... the last two; damaged ones are passed over
};
SettingsFound read_settings_in(const std::string& folder);

// "data.train: b.txt, before: a.txt", of settings that can matter for the loss.
std::vector<std::string> differing_settings(const config::Settings& now, const config::Settings& before);

struct CheckpointsFound {
  std::vector<std::int64_t> complete;  // steps, ascending
  std::int64_t unfinished = -1;        // the last one of which parts alone are there
};
CheckpointsFound find_checkpoints(const std::string& folder);

// What the end of each log says of the last attempt.
struct LogsRead {
  std::map<int, ThreadFacts> threads;
  bool data_differ = false;
};
LogsRead read_logs(const std::string& folder);

// The last 20 lines of a rank's log; "" where there is none.
std::string last_lines_of_log(const std::string& folder, int rank);

}  // namespace troika::diagnosis
