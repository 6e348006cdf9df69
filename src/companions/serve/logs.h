// Logs of a run, read from their end backwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run_files.h"

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
LogPage read_log(const base::RunFile& file, const LogQuestion& question);

// `which`: the number of a rank, "run" or "launch". Refused 400 for anything else.
std::string log_json(const std::string& folder, const std::string& which, const LogQuestion& question);

// A list of the last 1,000 events, in order, as events.jsonl has them.
std::string events_json(const std::string& folder);

// A line of a log, as a page may show it.
inline constexpr std::size_t most_line_bytes = 4000;

// Without escape sequences of terminals, control characters other than tabs, and marks that turn the direction of text; what is no
// UTF-8 as U+FFFD; of a line that was written over by way of carriage returns, the last text. Beyond `most_bytes` cut, with " ..."
// behind.
std::string shown_line(std::string_view line, std::size_t most_bytes = most_line_bytes);

// Looks for plain text, in any case of the letters A to Z.
class LineSearch {
 public:
  explicit LineSearch(std::string_view wanted);  // "": every line has it

  bool takes_all() const { return wanted_.empty(); }
  bool found_in(std::string_view line) const;

 private:
  std::string wanted_;  // in lower case
};

}  // namespace troika::serve
