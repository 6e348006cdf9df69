#include "serve/line_count.h"

#include <string_view>
#include <vector>

#include "serve/run_file.h"

namespace troika::serve {

std::optional<std::int64_t> lines_of(const std::string& folder, const std::string& name, std::int64_t* budget) {
  constexpr std::size_t chunk = std::size_t{1} << 18;
  constexpr std::string_view blank = " \t\r";
  const std::optional<RunFile> file = RunFile::open(folder, name);
  if (!file || file->facts().bytes > *budget) return std::nullopt;
  *budget -= file->facts().bytes;
  std::vector<char> buffer(chunk);
  std::int64_t lines = 0, offset = 0;
  bool has_text = false;
  while (offset < file->facts().bytes) {
    const std::size_t got = file->read(offset, buffer.data(), buffer.size());
    if (got == 0) break;
    for (const char c : std::string_view(buffer.data(), got)) {
      if (c == '\n') {
        lines += has_text ? 1 : 0;
        has_text = false;
      } else if (blank.find(c) == std::string_view::npos) {
        has_text = true;
      }
    }
    offset += static_cast<std::int64_t>(got);
  }
  return lines + (has_text ? 1 : 0);
}

}  // namespace troika::serve
