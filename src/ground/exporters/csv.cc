#include "exporters/tensorboard.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "base/json.h"

namespace troika::exporters {
namespace {

constexpr const char* line_end = "\r\n";

// The row's values as metrics.jsonl has them, in its order.
std::vector<std::pair<std::string, std::string>> cells_of(const metrics::StepMetrics& row) {
  std::vector<std::pair<std::string, std::string>> cells;
  const nlohmann::ordered_json object = base::parse_ordered_json(to_json(row), "a row");
  for (const auto& item : object.items()) {
    const auto& value = item.value();
    cells.emplace_back(item.key(), value.is_null()     ? ""
                                   : value.is_string() ? value.template get<std::string>()
                                                       : value.dump());
  }
  return cells;
}

// The columns of a row without further keys, then every further key.
std::vector<std::string> columns_of(const records::RunReader& run) {
  std::vector<std::string> columns;
  for (const auto& [name, value] : cells_of({})) columns.push_back(name);
  std::map<std::string, bool> further;
  for (const metrics::StepMetrics& row : run.steps())
    for (const auto& [name, value] : row.extra) further[name] = true;
  for (const auto& [name, occurs] : further) columns.push_back(name);
  return columns;
}

}  // namespace

std::string csv(const records::RunReader& run) {
  const std::vector<std::string> columns = columns_of(run);
  std::string text = base::csv_record(columns) + line_end;
  for (const metrics::StepMetrics& row : run.steps()) {
    std::map<std::string, std::string> cells;
    for (auto& [name, value] : cells_of(row)) cells[name] = value;
    std::vector<std::string> line;
    for (const std::string& column : columns) line.push_back(cells[column]);
    text += base::csv_record(line) + line_end;
  }
  return text;
}

}  // namespace troika::exporters
