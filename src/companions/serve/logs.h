// Logs of a run, read from their end backwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/run_file.h"

namespace troika::serve {

struct LogQuestion {
  std::string search;                  // "": all lines
  std::optional<std::int64_t> before;  // where a line begins or the file ends; nothing: at its end
  std::size_t lines = 500;             // at most
};

struct LogLine {
  std::int64_t offset = 0;
  std::string text;  // shown_line()
};

// In the order of the file.
struct LogPage {
  std::vector<LogLine> lines;
  std::optional<std::int64_t> before;  // what to ask for to get what is older; nothing: there is none
};

// Reads 32 MB at most: then there may be fewer lines than were asked for, though `before` says that there are older ones. Of a line of
// more than 1 MiB each 1 MiB counts as one.
LogPage read_log(const RunFile& file, const LogQuestion& question);

// `which`: the number of a rank, "run" or "launch". Refused 400 for anything else.
std::string log_json(const std::string& folder, const std::string& which, const LogQuestion& question);

}  // namespace troika::serve
