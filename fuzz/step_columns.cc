// metrics.jsonl as the page's index of columns reads it, in two looks.
#include "serve/column_cache.h"

#include <fcntl.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "fuzz/input.h"
#include "fuzz/memory_file.h"
#include "fuzz/outcome.h"
#include "metrics/step_metrics.h"
#include "serve/curves.h"
#include "serve/columns.h"

namespace troika::fuzz {
namespace {

using namespace serve;

// Each step once.
std::vector<metrics::StepMetrics> rows_by_records(const std::string& path) {
  std::vector<metrics::StepMetrics> rows;
  std::vector<std::string> lines = base::split(base::read_file(path), '\n');
  lines.pop_back();  // not ended yet
  for (const std::string& line : lines) {
    metrics::StepMetrics row;
    if (!accepted([&] { row = metrics::parse_step_metrics(line, "a row"); })) continue;
    while (!rows.empty() && rows.back().step >= row.step) rows.pop_back();
    rows.push_back(row);
  }
  return rows;
}

bool alike(float had, double wanted) {
  const auto value = static_cast<float>(wanted);
  return had == value || (std::isnan(had) && std::isnan(value));
}

void require_same(const serve::Columns& columns, const std::vector<metrics::StepMetrics>& rows) {
  require(columns.rows() == static_cast<std::int64_t>(rows.size()), "columns have the rows of the records");
  auto row = rows.begin();
  columns.each_block(0, columns.rows(), [&](const serve::Columns::Block& block, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i, ++row) {
      require(block.steps[i] == row->step && block.tokens[i] == row->tokens_total, "counts are those of the records");
      require(alike(block.of(serve::Series::loss)[i], row->loss) && alike(block.of(serve::Series::grad_norm)[i], row->grad_norm) &&
                  alike(block.of(serve::Series::lr)[i], row->lr) &&
                  alike(block.of(serve::Series::step_seconds)[i], row->step_seconds) &&
                  alike(block.of(serve::Series::tokens_per_second)[i], row->tokens_per_second),
              "numbers are those of the records");
    }
  });
}

base::RunFile opened(const MemoryFile& file) { return *base::RunFile::of(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC)); }

void require_answers(const serve::Columns& columns, const base::RunFile& file) {
  const auto listed =
      nlohmann::json::parse(serve::rows_json(columns, file, std::numeric_limits<std::int64_t>::min(), most_rows));
  require(static_cast<std::int64_t>(listed.size()) == std::min(columns.rows(), most_rows), "every row is told");
  for (std::size_t i = 0; i < listed.size(); ++i)
    require(listed[i].at("step") == columns.step(static_cast<std::int64_t>(i)), "rows are told in their order");
  for (const serve::Axis axis : {serve::Axis::step, serve::Axis::tokens, serve::Axis::time}) {
    const auto curve = nlohmann::json::parse(serve::curve_json("run", columns, {serve::Series::loss, axis, {}, {}, 3}));
    require(curve.at("x").size() == curve.at("low").size() && curve.at("x").size() <= 3, "a curve has its columns");
  }
}

}  // namespace
}  // namespace troika::fuzz

// The first two bytes say where the first look ends.
TROIKA_FUZZ_TARGET(step_columns)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  static fuzz::MemoryFile file;
  if (size < 2) return 0;
  const std::string_view text = fuzz::text_of(data + 2, size - 2);
  const std::size_t first = std::min<std::size_t>(text.size(), data[0] * 256U + data[1]);
  serve::StepColumns columns;
  file.set(text.substr(0, first));
  columns.refresh(fuzz::opened(file));
  fuzz::require_same(columns.columns(), fuzz::rows_by_records(file.path()));
  file.set(text);
  columns.refresh(fuzz::opened(file));
  fuzz::require_same(columns.columns(), fuzz::rows_by_records(file.path()));
  fuzz::require_answers(columns.columns(), fuzz::opened(file));
  return 0;
}
