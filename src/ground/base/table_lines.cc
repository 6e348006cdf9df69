#include "base/table_lines.h"

#include <algorithm>

namespace troika::base {

std::vector<std::string_view> table_lines(std::string_view table) {
  std::vector<std::string_view> lines;
  while (!table.empty()) {
    const std::string_view line = cut_at("\n", &table);
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

std::string_view cut_at(std::string_view mark, std::string_view* text) {
  const std::size_t end = std::min(text->find(mark), text->size());
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(std::min(end + mark.size(), text->size()));
  return part;
}

}  // namespace troika::base
