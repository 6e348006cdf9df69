// The vocabularies of other programs, files that are part of this one.
#pragma once

#include <string_view>
#include <vector>

namespace troika::config {

struct Asset {
  std::string_view path;   // below src/ground/config/import/tables
  std::string_view bytes;  // as long as the program runs
};
std::vector<Asset> import_tables();  // by path

// The lines of a table (base/table_lines.h). BugError where there is none of that path.
std::vector<std::string_view> lines_of_table(std::string_view path);

}  // namespace troika::config
