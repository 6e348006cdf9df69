#include "serve/rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "serve/line_chunks.h"
#include "serve/row_scan.h"

namespace troika::serve {
namespace {

std::int64_t first_row_from(const Columns& columns, std::int64_t step) {
  std::int64_t low = 0, high = columns.rows();
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (columns.step(middle) < step)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// A line that the full parser alone takes may hold more than JSON, such as what stands behind a zero byte.
std::string as_json(std::string_view line) {
  if (is_plain_row(line)) return std::string(line);
  return nlohmann::ordered_json::parse(line.begin(), line.end()).dump();
}

}  // namespace

std::string rows_json(const Columns& columns, const RunFile& file, std::int64_t from, std::int64_t limit) {
  const std::int64_t first = first_row_from(columns, from);
  const std::int64_t end = std::min(columns.rows(), first + std::clamp<std::int64_t>(limit, 0, most_rows));
  std::string text = "[";
  for (std::int64_t row = first; row < end;) {
    const std::size_t mark = columns.mark_of(row);
    const std::vector<Columns::Mark>& marks = columns.marks();
    const bool last = mark + 1 == marks.size();
    const std::int64_t behind = last ? end : std::min(end, marks[mark + 1].row);
    const std::int64_t end_offset = last ? file.facts().bytes : marks[mark + 1].offset;
    std::int64_t at = marks[mark].row;
    each_line(file, {marks[mark].offset, false}, end_offset, [&](std::int64_t, std::string_view line) {
      if (!scan_row(line)) return true;
      if (at >= row) text += (text.size() > 1 ? ",\n" : "") + as_json(line);
      return ++at < behind;
    });
    row = behind;
  }
  return text + "]\n";
}

}  // namespace troika::serve
