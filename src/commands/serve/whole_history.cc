#include "commands/serve/whole_history.h"

#include <cmath>
#include <optional>

#include "commands/serve/row_scan.h"
#include "commands/serve/run_file.h"

namespace troika::commands::serve {
namespace {

metrics::StepMetrics for_history(const ScannedRow& row) {
  metrics::StepMetrics metrics;
  metrics.step = row.step;
  metrics.loss = row[Series::loss];
  metrics.grad_norm = row[Series::grad_norm];
  metrics.tokens_per_second = row[Series::tokens_per_second];
  if (const double valid = row[Series::valid_loss]; std::isfinite(valid)) metrics.extra["valid_loss"] = valid;
  return metrics;
}

}  // namespace

void WholeHistory::take(std::deque<metrics::StepMetrics>& rows) {
  rows_ += static_cast<std::int64_t>(rows.size());
  history_.update(rows, rows_);
  rows.clear();
}

void WholeHistory::refresh() {
  constexpr std::size_t rows_at_once = 4096;
  const std::optional<RunFile> file = RunFile::open(folder_, "metrics.jsonl");
  if (!file) return;
  const RunFile::Facts& facts = file->facts();
  if (facts.device != device_ || facts.inode != inode_ || facts.bytes < read_.next) {
    history_ = {};
    rows_ = 0;
    read_ = {};
    device_ = facts.device;
    inode_ = facts.inode;
  }
  std::deque<metrics::StepMetrics> rows;
  read_ = each_line(*file, read_, facts.bytes, [&](std::int64_t, std::string_view line) {
    if (const std::optional<ScannedRow> row = scan_row(line)) rows.push_back(for_history(*row));
    if (rows.size() == rows_at_once) take(rows);
    return true;
  });
  take(rows);
}

}  // namespace troika::commands::serve
