#include "config/import/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace troika::config {

std::vector<std::string_view> lines_of_table(std::string_view path) {
  const std::vector<Asset> tables = import_tables();
  const auto table = std::find_if(tables.begin(), tables.end(), [&](const Asset& asset) { return asset.path == path; });
  if (table == tables.end()) throw base::BugError(fmt::format("there is no table {}", path));
  return base::table_lines(table->bytes);
}

}  // namespace troika::config
