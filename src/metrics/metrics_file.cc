#include "metrics/metrics_file.h"

#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace troika::metrics {

// Calls row(line with its newline, parsed) for each whole row. A last line without newline is torn and left out.
static void for_each_row(const std::string& path, const std::string& content,
                         const std::function<void(std::string_view, const StepMetrics&)>& row) {
  std::size_t begin = 0;
  for (std::int64_t number = 1;; ++number) {
    const std::size_t end = content.find('\n', begin);
    if (end == std::string::npos) return;
    const std::string line = content.substr(begin, end - begin);
    if (!base::trim(line).empty())
      row(std::string_view(content).substr(begin, end + 1 - begin),
          parse_step_metrics(line, fmt::format("line {} of '{}'", number, path)));
    begin = end + 1;
  }
}

void MetricsFile::append(const StepMetrics& metrics) const { base::append_file(path_, to_json(metrics) + "\n"); }

void MetricsFile::cut_after(std::int64_t step) const {
  if (!base::file_exists(path_)) return;
  const std::string content = base::read_file(path_);
  std::string kept;
  for_each_row(path_, content, [&](std::string_view line, const StepMetrics& row) {
    if (row.step <= step) kept += line;
  });
  if (kept != content) base::write_file_atomic(path_, kept);
}

std::vector<StepMetrics> MetricsFile::read() const {
  std::vector<StepMetrics> rows;
  if (!base::file_exists(path_)) return rows;
  for_each_row(path_, base::read_file(path_), [&](std::string_view, const StepMetrics& row) { rows.push_back(row); });
  return rows;
}

}  // namespace troika::metrics
