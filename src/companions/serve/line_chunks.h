// The lines of a part of a file, by reading it in pieces of a bounded size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/run_files.h"

namespace troika::serve {

inline constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

struct LinesRead {
  std::int64_t next = 0;   // where the first line begins that is not whole yet
  bool in_a_long = false;  // that begin is within a line of more than chunk_bytes, the rest of which is passed over
};

// Calls each(offset, line) for every whole line from `from` to `end`, without its newline; lines of more than chunk_bytes are left
// out. each() returns false to end the reading behind that line.
template <class Each>
LinesRead each_line(const base::RunFile& file, LinesRead from, std::int64_t end, const Each& each) {
  std::string buffer;
  buffer.resize(
      std::min<std::size_t>(chunk_bytes, static_cast<std::size_t>(std::max<std::int64_t>(end - from.next, 0))));
  std::size_t held = 0;  // of the line that is not whole yet, at the front of the buffer
  LinesRead at = from;
  for (std::int64_t offset = from.next; offset < end;) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(buffer.size() - held), end - offset));
    const std::size_t count = file.read(offset, buffer.data() + held, wanted);
    if (count == 0) break;
    offset += static_cast<std::int64_t>(count);
    const char *begin = buffer.data(), *searched = begin + held, *const behind = searched + count;
    while (const auto* newline =
               static_cast<const char*>(std::memchr(searched, '\n', static_cast<std::size_t>(behind - searched)))) {
      const std::string_view line(begin, static_cast<std::size_t>(newline - begin));
      const std::int64_t line_offset = at.next;
      const bool whole = !at.in_a_long;
      at.next += static_cast<std::int64_t>(line.size()) + 1;
      at.in_a_long = false;
      begin = searched = newline + 1;
      if (whole && !each(line_offset, line)) return at;
    }
    held = static_cast<std::size_t>(behind - begin);
    if (held == buffer.size() && held == chunk_bytes) {
      at.next += static_cast<std::int64_t>(held);
      at.in_a_long = true;
      held = 0;
    }
    std::memmove(buffer.data(), begin, held);
  }
  if (at.in_a_long) at.next += static_cast<std::int64_t>(held);
  return at;
}

}  // namespace troika::serve
