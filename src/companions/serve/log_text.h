// A line of a log, as a page may show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troika::serve {

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
